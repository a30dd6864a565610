// SPDX-License-Identifier: Apache-2.0
//
// The part of HttpConnection that gives finished answers, and bounds what waits of them and for how
// long.
#include <event2/buffer.h>
#include <event2/event.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "server/http/connection.h"
#include "server/http/problem.h"

namespace gopmill {
namespace {

// The response keeps looking at the same bytes.
SharedBody TakeBody(HttpResponse& response) {
  if (!response.shared) {
    const auto own = std::make_shared<const std::string>(std::move(response.body));
    response.shared = SharedBody{.owner = own, .bytes = *own, .kept_bytes = own->capacity()};
  }
  return *response.shared;
}

}  // namespace

void HttpConnection::Respond(HttpResponse response) {
  CompressIfAccepted(request_, response, *host_.packed());
  const bool has_body = request_.method != "HEAD" && !response.content().empty();
  SharedBody body = has_body ? TakeBody(response) : SharedBody{};
  if (body.kept_bytes > host_.limits().small_answer_bytes && !host_.MakeRoom(id_, body)) {
    return Respond(ErrorResponse({Code::kUnavailable, "Too many answers wait for slow clients."}));
  }
  HttpFields fields = CommonFields(request_, persistence_);
  const bool bodiless = response.status == 204 || response.status == 304;
  if (!bodiless && !response.content_type.empty()) {
    fields.emplace_back("Content-Type", response.content_type);
  }
  if (!bodiless && response.length_known) {
    fields.emplace_back("Content-Length", std::to_string(response.content().size()));
  }
  std::move(response.fields.begin(), response.fields.end(), std::back_inserter(fields));
  const std::string head = FormatHead(response.status, fields);
  host_.metrics().RequestAnswered(route_, response.status);
  phase_ = Phase::kReading;
  LimitAnswer(head.size() + body.bytes.size());
  evbuffer_add(output(), head.data(), head.size());
  if (!body.bytes.empty()) SendBody(std::move(body));
  if (persistence_ == Persistence::kClose) return FlushAndClose();
  AwaitRequest();
}

void HttpConnection::SendBody(SharedBody body) {
  const std::string_view bytes = body.bytes;
  const bool counts = body.kept_bytes > host_.limits().small_answer_bytes;
  auto held =
      std::make_unique<WaitingAnswers::Held>(counts ? host_.answers() : nullptr, std::move(body));
  const auto let_go = [](const void*, std::size_t, void* pointer) {
    const std::unique_ptr<WaitingAnswers::Held> owner(static_cast<WaitingAnswers::Held*>(pointer));
  };
  const int added =
      evbuffer_add_reference(output(), bytes.data(), bytes.size(), let_go, held.release());
  GOPMILL_CHECK(added == 0);
}

// A byte now and then defeats the stall limit, so that there is one for the whole as well.
void HttpConnection::LimitAnswer(std::size_t bytes) {
  const HttpLimits& limits = host_.limits();
  const TimePoint now = SteadyNow();
  if (!answering_since_) answer_until_ = answering_since_.emplace(now);
  answer_until_ =
      std::max(answer_until_, now + limits.write_stall_timeout) +
      FromSeconds(static_cast<double>(bytes) / static_cast<double>(limits.answer_bytes_per_second));
  const timeval delay = ToTimeval(answer_until_ - now);
  event_add(answer_event_.get(), &delay);
}

// Nothing of an answer waits any more, or a stream is behind it, which has its own pace.
void HttpConnection::AnswerTaken() {
  answering_since_.reset();
  event_del(answer_event_.get());
}

void HttpConnection::OnAnswerLate(int /*fd*/, short /*what*/, void* pointer) noexcept {
  static_cast<HttpConnection*>(pointer)->CutOff("it takes its answer too slowly");
}

}  // namespace gopmill
