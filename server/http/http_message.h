// SPDX-License-Identifier: Apache-2.0
//
// Requests and responses as plain values, between the parser, the handlers and the connection. No
// libevent, no parser types.
//
// Thread-safety: compatible (plain values).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gopmill {

using HttpFields = std::vector<std::pair<std::string, std::string>>;

// The head of one request; field names are in lower case.
struct HttpRequest {
  std::string method;  // as sent: methods are case-sensitive (RFC 9110 section 9.1)
  std::string target;  // as sent, not decoded
  bool http11 = true;  // false for HTTP/1.0
  bool keep_alive = true;
  bool has_body = false;
  HttpFields fields;
  std::string peer = {};  // who asks, "127.0.0.1:5000"

  // The value of the first field `name` (lower case), empty if there is none.
  [[nodiscard]] std::string_view Field(std::string_view name) const;
  // Of one that is a list: several lines of it are one (RFC 9110 section 5.3).
  [[nodiscard]] std::string List(std::string_view name) const;
  // Whether the client waits to be told to send its body. One of HTTP/1.0 knows no such answer,
  // whatever it says (RFC 9110 section 10.1.1).
  [[nodiscard]] bool AsksToContinue() const { return http11 && !Field("expect").empty(); }
};

// What becomes of the body of a request.
enum class BodyUse {
  kTaken,    // it is handed on
  kDropped,  // nobody wants it: read up to the limit, an error beyond it
  kRefused,  // as the whole request: read where its length says that it is within the limit
};

// Bytes that several answers may have in common, or a part of them.
struct SharedBody {
  std::shared_ptr<const void> owner;  // keeps the bytes; null: they are there forever
  std::string_view bytes;
  std::size_t kept_bytes = 0;  // what the owner keeps in memory, however few of them are sent
};

// A complete response. The connection adds Date, Content-Length, Connection and CORS.
struct HttpResponse {
  int status = 200;
  std::string content_type = {};  // empty: no body; of a 304, of what the client has
  HttpFields fields = {};
  std::string body = {};
  std::optional<SharedBody> shared = {};  // instead of `body`
  bool length_known = true;  // false: the answer to HEAD of a stream, which has no Content-Length

  [[nodiscard]] std::string_view content() const { return shared ? shared->bytes : body; }
};

// "Not Found" for 404; RFC 9110 section 15 and RFC 6585.
std::string_view ReasonPhrase(int status);

// Whether a list field such as TE or Accept-Encoding offers `token` (lower case) with a quality
// above 0 (RFC 9110 section 12.4.2). "*" does not count.
bool OffersToken(std::string_view list, std::string_view token);

// The time as Date wants it (RFC 9110 section 5.6.7): "Sun, 06 Nov 1994 08:49:37 GMT".
std::string HttpDate();

// `text` as a quoted string of RFC 8941 section 3.3.3; what is not printable ASCII becomes '?'.
std::string QuotedString(std::string_view text);

// Status line and fields with the closing empty line.
std::string FormatHead(int status, const HttpFields& fields);

}  // namespace gopmill
