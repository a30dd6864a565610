// SPDX-License-Identifier: Apache-2.0
//
// The response of one running stream: takes what the channel holds and writes it as HTTP.
//
// HTTP/1.1 gets chunks (RFC 9112 section 7.1), and the measures in one trailer field,
// X-Gopmill-Measures, if the request said "TE: trailers" (RFC 9110 section 6.5.1). HTTP/1.0 gets
// plain bytes up to the end of the connection. A stream that fails after its head has no last
// chunk: that is how the client learns that the body is not whole.
//
// Thread-safety: thread-affine to the loop.
#pragma once

#include <memory>

#include "base/ids.h"
#include "base/status.h"
#include "server/http/http_message.h"
#include "server/http/stream_channel.h"

namespace gopmill {

class StreamResponse {
 public:
  enum class State {
    kWaiting,  // nothing written yet
    kRunning,  // the head is out
    kDone,     // complete
    kFailed,   // ended before the head: error() is the answer
    kBroken,   // ended after the head: cut the connection
  };

  // `common` are the fields of every response; `request` decides the framing.
  StreamResponse(std::shared_ptr<StreamChannel> channel, const HttpRequest& request,
                 HttpFields common);
  ~StreamResponse();  // abandons the channel
  StreamResponse(const StreamResponse&) = delete;
  StreamResponse& operator=(const StreamResponse&) = delete;

  void set_id(StreamId id) { id_ = id; }
  [[nodiscard]] StreamId id() const { return id_; }
  [[nodiscard]] StreamChannel& channel() { return *channel_; }

  // Appends to `output` whatever is there. Call again whenever the channel wakes the loop.
  State Pump(evbuffer* output);
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  void WriteHead(const StreamStart& start, evbuffer* output) const;
  void WriteBody(evbuffer* body, evbuffer* output) const;
  void End(const StreamEnd& end, evbuffer* output);

  const std::shared_ptr<StreamChannel> channel_;
  HttpFields common_;
  const bool chunked_;
  const bool trailers_;
  StreamId id_;
  State state_ = State::kWaiting;
  Error error_;
};

}  // namespace gopmill
