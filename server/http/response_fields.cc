// SPDX-License-Identifier: Apache-2.0
#include "server/http/response_fields.h"

#include <string>
#include <string_view>
#include <utility>

#include "server/http/gzip.h"

namespace gopmill {
namespace {

bool IsText(std::string_view content_type) {
  return content_type.starts_with("text/") || content_type.find("json") != std::string_view::npos ||
         content_type.find("svg") != std::string_view::npos ||
         content_type.find("mpegurl") != std::string_view::npos ||
         content_type.find("dash+xml") != std::string_view::npos;
}

constexpr std::string_view kPackedEnd = "-gzip\"";  // of the tag of a compressed form

void TagAsPacked(HttpResponse& response) {
  for (auto& [name, value] : response.fields) {
    if (name == "ETag") value.replace(value.size() - 1, 1, kPackedEnd);
  }
}

}  // namespace

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

void CompressIfAccepted(const HttpRequest& request, HttpResponse& response) {
  if (!IsText(response.content_type)) return;
  response.fields.emplace_back("Vary", "Accept-Encoding");
  if (response.status == 304 &&
      request.List("if-none-match").find(kPackedEnd) != std::string::npos) {
    TagAsPacked(response);
  }
  if (response.status == 206 || response.status == 304) return;
  const std::size_t size = response.content().size();
  if (size < kMinGzipBytes || size > kMaxGzipBytes) return;
  if (!OffersToken(request.List("accept-encoding"), "gzip")) return;
  if (auto packed = Gzip(response.content())) {
    response.shared.reset();
    response.body = *std::move(packed);
    response.fields.emplace_back("Content-Encoding", "gzip");
    TagAsPacked(response);
  }
}

}  // namespace gopmill
