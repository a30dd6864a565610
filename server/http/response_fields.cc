// SPDX-License-Identifier: Apache-2.0
#include "server/http/response_fields.h"

#include <string>
#include <string_view>
#include <utility>

#include "server/http/gzip.h"

namespace gopmill {
namespace {

constexpr std::string_view kPackedEnd = "-gzip\"";  // of the tag of a compressed form

void TagAsPacked(HttpResponse& response) {
  for (auto& [name, value] : response.fields) {
    if (name == "ETag") value.replace(value.size() - 1, 1, kPackedEnd);
  }
}

// False where it stays as it is. Nothing is made for HEAD.
bool Pack(HttpResponse& response, PackedTexts& packed, bool head_only) {
  const std::size_t size = response.content().size();
  const bool built_in = response.shared && response.shared->owner == nullptr;
  if (size < kMinGzipBytes || size > kMaxGzipBytes) return false;
  const std::size_t most = built_in ? kMaxGzipBytes : kMaxLoopGzipBytes;
  if (response.shared) {
    const PackedTexts::Bytes bytes = packed.Of(*response.shared, head_only ? 0 : most);
    if (bytes) {
      response.shared =
          SharedBody{.owner = bytes, .bytes = *bytes, .kept_bytes = bytes->capacity()};
      return true;
    }
  } else if (auto bytes = head_only || size > most ? std::nullopt : Gzip(response.body)) {
    response.body = *std::move(bytes);
    return true;
  }
  if (head_only) response.length_known = false;  // of what GET would give
  return head_only;
}

}  // namespace

bool AcceptsGzip(const HttpRequest& request) {
  return OffersToken(request.List("accept-encoding"), "gzip");
}

std::string PlainTags(const HttpRequest& request) {
  std::string tags = request.List("if-none-match");
  for (std::size_t at = tags.find(kPackedEnd); at != std::string::npos;
       at = tags.find(kPackedEnd)) {
    tags.replace(at, kPackedEnd.size(), "\"");
  }
  return tags;
}

HttpFields CommonFields(const HttpRequest& request, Persistence persistence) {
  HttpFields fields = {
      {"Date", HttpDate()},
      {"Server", "gopmill"},
      {"Access-Control-Allow-Origin", "*"},
      {"Access-Control-Expose-Headers",
       "X-Gopmill-Stream, X-Gopmill-Adjusted, Server-Timing, Link, Retry-After, ETag, "
       "Content-Range, Accept-Ranges"},
      {"X-Content-Type-Options", "nosniff"},
  };
  if (persistence == Persistence::kClose) {
    fields.emplace_back("Connection", "close");
  } else if (!request.http11) {
    fields.emplace_back("Connection", "keep-alive");
  }
  return fields;
}

void CompressIfAccepted(const HttpRequest& request, HttpResponse& response, PackedTexts& packed) {
  if (!IsText(response.content_type)) return;
  response.fields.emplace_back("Vary", "Accept-Encoding");
  if (response.status == 304 &&
      request.List("if-none-match").find(kPackedEnd) != std::string::npos) {
    TagAsPacked(response);
  }
  if (response.status == 206 || response.status == 304) return;
  if (!AcceptsGzip(request) || !Pack(response, packed, request.method == "HEAD")) {
    return;
  }
  response.fields.emplace_back("Content-Encoding", "gzip");
  TagAsPacked(response);
}

}  // namespace gopmill
