// SPDX-License-Identifier: Apache-2.0
//
// Turns the bytes of a connection into requests, one at a time (RFC 9112). Incremental: takes any
// piece of input, says how much of it it used, keeps no copy of the rest.
//
// Guarantees: bounded memory (HttpLimits); after kFailed the connection must be closed, because the
// two sides no longer agree where the next request starts. What request smuggling lives from is
// refused: both Content-Length and Transfer-Encoding, differing lengths, codings other than a
// single "chunked", bare LF, blanks before a colon, a missing or second Host under HTTP/1.1. Bodies
// are counted against the limit and dropped.
//
// Thread-safety: compatible. The parser library (Boost.Beast) is in request_parser.cc only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

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

  explicit RequestParser(const HttpLimits& limits);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  // Reads on. Returns the number of bytes used; the caller passes the others again, followed by
  // more, at the next call. Uses nothing once kDone or kFailed.
  std::size_t Feed(std::span<const std::uint8_t> bytes);
  // Forgets the request and waits for the next one.
  void Reset();

  [[nodiscard]] State state() const;
  [[nodiscard]] bool mid_message() const;            // some bytes of a request were used, not all
  [[nodiscard]] const HttpRequest& request() const;  // kBody and kDone
  [[nodiscard]] const Problem& problem() const;      // kFailed

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gopmill
