// SPDX-License-Identifier: Apache-2.0
//
// The part of HttpConnection that answers with a stream, from its opening to its last byte or the
// client's leaving.
#include <event2/buffer.h>

#include <memory>
#include <utility>

#include "server/http/connection.h"
#include "server/http/problem.h"

namespace gopmill {

void HttpConnection::StartStream(const StreamReply& reply) {
  if (input_ended_) return FlushAndClose();  // the client has left already: see the class comment
  phase_ = Phase::kStreaming;
  AnswerTaken();
  auto channel = std::make_shared<StreamChannel>(
      host_.limits().stream_buffer_bytes, host_.metrics(),
      [post = host_.MakePoster(id_)] { post([](HttpConnection& self) { self.PumpStream(); }); });
  channel->SetInOutput(evbuffer_get_length(output()));
  stream_ = std::make_unique<StreamResponse>(channel, request_,
                                             CommonFields(request_, StreamPersistence()));
  const auto id = OpenStream(reply, std::make_unique<HttpStreamSink>(channel));
  if (!id) {
    stream_.reset();
    CloseBody();
    return Respond(ErrorResponse(id.error()));
  }
  stream_->set_id(*id);
  if (!std::exchange(stream_counted_, true)) host_.OnStreamBegan();
  if (uploading()) PumpBody();
}

Result<StreamId> HttpConnection::OpenStream(const StreamReply& reply,
                                            std::unique_ptr<StreamSink> sink) {
  Service& service = host_.context().service;
  if (!reply.path.empty()) return service.OpenStream(reply.path, reply.params, std::move(sink));
  GOPMILL_ASSIGN_OR_RETURN(UniqueFd body, OpenBody());
  return service.OpenUpload(std::move(body), reply.params, std::move(sink));
}

void HttpConnection::PumpStream() {
  if (phase_ != Phase::kStreaming || stream_ == nullptr) return;
  const bool had_head = stream_->state() == StreamResponse::State::kRunning;
  const StreamResponse::State state = stream_->Pump(output());
  const bool has_head =
      state != StreamResponse::State::kWaiting && state != StreamResponse::State::kFailed;
  if (!had_head && has_head) host_.metrics().RequestAnswered(route_, 200);
  switch (state) {
    case StreamResponse::State::kWaiting:
    case StreamResponse::State::kRunning: return;
    case StreamResponse::State::kDone: persistence_ = StreamPersistence(); break;
    case StreamResponse::State::kBroken:
      // HTTP/1.0 has no chunks whose last one could be missing: only a reset tells.
      if (!request_.http11) return Close(How::kReset);
      persistence_ = Persistence::kClose;
      break;
    case StreamResponse::State::kFailed: {
      HttpResponse response = ErrorResponse(stream_->error());
      stream_.reset();
      CloseBody();
      Respond(std::move(response));
      return NextRequest();
    }
  }
  stream_.reset();
  CloseBody();
  phase_ = Phase::kReading;
  if (persistence_ == Persistence::kClose) return FlushAndClose();
  AwaitRequest();
  NextRequest();
}

// Without chunks the end of the connection is the end of the body.
Persistence HttpConnection::StreamPersistence() const {
  return request_.http11 ? persistence_ : Persistence::kClose;
}

// The connection closes while a stream may run: its cores are free at the next frame.
void HttpConnection::EndStream() {
  if (stream_ == nullptr) return;
  // First the cancel, so that the stream knows why its sink refuses bytes from now on. Not found
  // means that it has just ended by itself.
  static_cast<void>(host_.context().service.CancelStream(stream_->id()));
  stream_.reset();  // abandons the channel: a blocked egress thread goes on
}

}  // namespace gopmill
