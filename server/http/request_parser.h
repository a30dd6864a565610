// SPDX-License-Identifier: Apache-2.0
//
// Turns the bytes of a connection into requests, one at a time (RFC 9112). Incremental: takes any
// piece of input, says how much of it it used, keeps no copy of the rest.
//
// Guarantees: bounded memory (HttpLimits); after kFailed the connection must be closed, because the
// two sides no longer agree where the next request starts. What request smuggling lives from is
// refused: both Content-Length and Transfer-Encoding, differing lengths, codings other than a
// single "chunked", bare LF, blanks before a colon, a missing or second Host under HTTP/1.1. A body
// that the server has a use for is handed on piece by piece; any other is counted against the limit
// and dropped (BodyUse).
//
// Thread-safety: compatible. The parser library (Boost.Beast) is in request_parser.cc only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "server/http/http_message.h"
#include "server/http/http_options.h"
#include "server/http/problem.h"

namespace gopmill {

class RequestParser {
 public:
  enum class State {
    kHead,    // needs more of the request line or the header
    kBody,    // request() is complete; the body is not
    kDone,    // the whole message was read
    kFailed,  // problem() says why
  };

  // What becomes of the body of this request, whose header is complete.
  using JudgeBody = std::function<BodyUse(const HttpRequest&)>;

  explicit RequestParser(const HttpLimits& limits, JudgeBody judge_body = {});
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  // Reads on. Returns the number of bytes used; the caller passes the others again, followed by
  // more, at the next call. Uses nothing once kDone or kFailed. Stops behind the header of a
  // request whose body is wanted, or refused unread, so that the request can be looked at first.
  std::size_t Feed(std::span<const std::uint8_t> bytes);
  // Forgets the request and waits for the next one.
  void Reset();

  [[nodiscard]] State state() const;
  [[nodiscard]] bool mid_message() const;            // some bytes of a request were used, not all
  [[nodiscard]] const HttpRequest& request() const;  // kBody and kDone
  [[nodiscard]] const Problem& problem() const;      // kFailed
  // kBody and kDone: the body is wanted or refused unread; the request is looked at before it.
  [[nodiscard]] bool keeps_body() const;
  // What has been read of a wanted body since the last call: at most what Feed was given.
  std::string TakeBody();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gopmill
