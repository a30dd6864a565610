// SPDX-License-Identifier: Apache-2.0
//
// The part of HttpConnection that passes the body of a request on while it arrives.
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "server/http/connection.h"
#include "server/http/problem.h"

namespace gopmill {
namespace {

// What is parsed at a time, and so the most that may wait for the pipe.
constexpr std::size_t kMaxPieceBytes = 64 * kKiB;

}  // namespace

// Makes the way for the body and returns its far end.
Result<UniqueFd> HttpConnection::OpenBody() {
  UniqueFd reader;
  GOPMILL_ASSIGN_OR_RETURN(body_, BodyPipe::Open(
                                      host_.base(), [this] { PumpBody(); }, reader));
  moved_at_ = SteadyNow();
  return reader;
}

void HttpConnection::StartPublishing(const PublishReply& reply) {
  if (input_ended_) return FlushAndClose();
  const auto done = [post = host_.MakePoster(id_),
                     exchange = exchange_](Result<std::string> result) {
    post([exchange, result = std::move(result)](HttpConnection& self) {
      if (self.phase_ != Phase::kWaiting || self.exchange_ != exchange) return;
      self.CloseBody();
      self.Respond(result.ok() ? HttpResponse{200, "application/json", {}, *result + "\n"}
                               : ErrorResponse(result.error()));
    });
  };
  phase_ = Phase::kWaiting;
  Status status = OkStatus();
  if (auto body = OpenBody(); body.ok()) {
    status = host_.context().service.Publish(reply.name, reply.from, std::move(body).value(), done);
  } else {
    status = body.error();
  }
  if (status.ok()) return PumpBody();
  CloseBody();
  Respond(ErrorResponse(status.error()));
}

void HttpConnection::PumpBody() {
  if (!uploading()) return;
  AskForBody(request_);  // now that the request has been accepted
  bool progress = false;
  while (!body_->full()) {
    const std::size_t length = std::min(evbuffer_get_length(input()), kMaxPieceBytes);
    if (length == 0) break;
    const unsigned char* bytes = evbuffer_pullup(input(), static_cast<ev_ssize_t>(length));
    const std::size_t used = parser_.Feed({bytes, length});
    evbuffer_drain(input(), used);
    progress = progress || used > 0;
    body_->Push(parser_.TakeBody());
    if (parser_.state() == RequestParser::State::kFailed) return FailBody(parser_.problem());
    if (parser_.state() == RequestParser::State::kDone) {
      body_open_ = false;
      body_->End();
    }
    if (used == 0 || !body_open_) break;
  }
  if (progress) moved_at_ = SteadyNow();
  if (progress && timer_ == Timer::kUpload) Arm(Timer::kNone);
  WatchBody();
}

void HttpConnection::WatchBody() {
  const bool paused = body_open_ && body_->full();
  if (paused) {
    bufferevent_disable(bufferevent_.get(), EV_READ);
    return Arm(Timer::kPaused);
  }
  bufferevent_enable(bufferevent_.get(), EV_READ);
  Arm(body_open_ ? Timer::kUpload : Timer::kNone);
}

// Not reading hides the client's leaving. libevent's EV_CLOSED does not tell of a reset, so the
// state of the connection is looked at instead.
void HttpConnection::OnPaused() {
  tcp_info info{};
  socklen_t size = sizeof info;
  const int code =
      getsockopt(bufferevent_getfd(bufferevent_.get()), IPPROTO_TCP, TCP_INFO, &info, &size);
  if (code == 0 && info.tcpi_state != TCP_ESTABLISHED) return ClientLeft(How::kQuietly);
  const HttpLimits& limits = host_.limits();
  const Duration limit = host_.context().draining
                             ? std::min(limits.drain_pause_timeout, limits.upload_pause_timeout)
                             : limits.upload_pause_timeout;
  if (SteadyNow() - moved_at_ > limit) return CutOff("nothing of its body or its answer has moved");
  Arm(Timer::kPaused);
}

// The body cannot be read on: the stream that reads it is cancelled, not told that it has ended. Of
// a live source it is the end, as when its publisher leaves.
void HttpConnection::FailBody(const Problem& problem) {
  const bool answered = stream_ != nullptr && stream_->state() != StreamResponse::State::kWaiting;
  if (answered) return CutOff(problem.detail);
  spdlog::info("http: {}: {}", About(), problem.detail);
  ++exchange_;
  EndStream();
  CloseBody();
  persistence_ = Persistence::kClose;
  Respond(ProblemResponse(problem));
}

void HttpConnection::CloseBody() {
  if (body_ == nullptr) return;
  body_.reset();
  Arm(Timer::kNone);
  body_open_ = false;
  bufferevent_enable(bufferevent_.get(), EV_READ);
}

}  // namespace gopmill
