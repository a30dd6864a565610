// SPDX-License-Identifier: Apache-2.0
#include "server/http/stream_response.h"

#include <event2/buffer.h>
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace gopmill {
namespace {

void Append(evbuffer* output, std::string_view text) {
  evbuffer_add(output, text.data(), text.size());
}

// One changed parameter as an item with parameters (RFC 8941 section 3.3):
// width;asked="641";given="640";reason="4:2:0 video needs even sizes".
std::string FormatAdjustment(const Adjustment& adjustment) {
  return fmt::format("{};asked={};given={};reason={}", adjustment.parameter,
                     QuotedString(adjustment.asked), QuotedString(adjustment.given),
                     QuotedString(adjustment.reason));
}

// A dictionary of RFC 8941 section 3.2: bytes=123, frames=720.
std::string FormatMeasures(const StreamEnd& end) {
  std::string line;
  for (const auto& [name, value] : end.measures) {
    line.append(line.empty() ? "" : ", ").append(name).append("=");
    const bool number = value.find_first_not_of("0123456789.-") == std::string::npos;
    line.append(number && !value.empty() ? value : QuotedString(value));
  }
  return line;
}

}  // namespace

StreamResponse::StreamResponse(std::shared_ptr<StreamChannel> channel, const HttpRequest& request,
                               HttpFields common)
    : channel_(std::move(channel)),
      common_(std::move(common)),
      chunked_(request.http11),
      trailers_(request.http11 && OffersToken(request.List("te"), "trailers")) {}

StreamResponse::~StreamResponse() { channel_->Abandon(); }

StreamResponse::State StreamResponse::Pump(evbuffer* output) {
  if (state_ != State::kWaiting && state_ != State::kRunning) return state_;
  const EvbufferPtr body = MakeEvbuffer();
  const StreamChannel::Taken taken = channel_->Take(body.get());
  if (taken.start) {
    WriteHead(*taken.start, output);
    state_ = State::kRunning;
  }
  if (state_ == State::kRunning && taken.bytes > 0) WriteBody(body.get(), output);
  if (taken.end) End(*taken.end, output);
  channel_->SetInOutput(evbuffer_get_length(output));
  return state_;
}

void StreamResponse::WriteHead(const StreamStart& start, evbuffer* output) const {
  HttpFields fields = common_;
  const std::string id = std::to_string(id_.value);
  fields.emplace_back("Content-Type", start.content_type);
  fields.emplace_back("Cache-Control", "no-store");
  fields.emplace_back("Accept-Ranges", "none");
  fields.emplace_back("X-Gopmill-Stream", id);
  fields.emplace_back("Link", "</v1/streams/" + id + ">; rel=\"describedby\"");
  fields.emplace_back("Server-Timing", fmt::format("plan;dur={:.1f}", start.plan_ms));
  for (const Adjustment& adjustment : start.adjustments) {
    fields.emplace_back("X-Gopmill-Adjusted", FormatAdjustment(adjustment));
  }
  if (chunked_) fields.emplace_back("Transfer-Encoding", "chunked");
  if (trailers_) fields.emplace_back("Trailer", "X-Gopmill-Measures");
  Append(output, FormatHead(200, fields));
}

void StreamResponse::WriteBody(evbuffer* body, evbuffer* output) const {
  if (chunked_) Append(output, fmt::format("{:x}\r\n", evbuffer_get_length(body)));
  evbuffer_add_buffer(output, body);
  if (chunked_) Append(output, "\r\n");
}

void StreamResponse::End(const StreamEnd& end, evbuffer* output) {
  if (!end.status.ok()) {
    error_ = end.status.error();
    state_ = state_ == State::kRunning ? State::kBroken : State::kFailed;
    return;
  }
  if (state_ != State::kRunning) {
    error_ = InternalError("The stream ended before it began.");
    state_ = State::kFailed;
    return;
  }
  state_ = State::kDone;
  if (!chunked_) return;
  Append(output, "0\r\n");
  if (trailers_) Append(output, "X-Gopmill-Measures: " + FormatMeasures(end) + "\r\n");
  Append(output, "\r\n");
}

}  // namespace gopmill
