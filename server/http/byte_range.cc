// SPDX-License-Identifier: Apache-2.0
#include "server/http/byte_range.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "server/http/problem.h"

namespace gopmill {
namespace {

// All of `text` as a number; one too large for the type is as large as it can be.
std::optional<std::size_t> Number(std::string_view text) {
  std::size_t value = 0;
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() ? value : static_cast<std::size_t>(-1);
}

}  // namespace

RangeKind ParseRange(std::string_view field, std::size_t size, ByteRange& range) {
  constexpr std::string_view kUnit = "bytes=";
  if (!field.starts_with(kUnit)) return RangeKind::kNone;
  field.remove_prefix(kUnit.size());
  const std::size_t dash = field.find('-');
  if (dash == std::string_view::npos) return RangeKind::kNone;
  const auto first = Number(field.substr(0, dash)), last = Number(field.substr(dash + 1));
  if (dash == 0) {  // the last so many
    if (!last) return RangeKind::kNone;
    if (*last == 0 || size == 0) return RangeKind::kUnsatisfiable;
    range = {size - std::min(*last, size), size - 1};
    return RangeKind::kOne;
  }
  const bool open_ended = dash + 1 == field.size();
  if (!first || (!last && !open_ended)) return RangeKind::kNone;
  if (last && *last < *first) return RangeKind::kNone;
  if (*first >= size) return RangeKind::kUnsatisfiable;
  range = {*first, last ? std::min(*last, size - 1) : size - 1};
  return RangeKind::kOne;
}

void ApplyRange(const HttpRequest& request, std::string_view etag, HttpResponse& response) {
  if (request.method != "GET") return;
  const std::string_view condition = request.Field("if-range");
  if (!condition.empty() && condition != etag) return;
  const std::size_t size = response.content().size();
  ByteRange range;
  switch (ParseRange(request.Field("range"), size, range)) {
    case RangeKind::kNone: return;
    case RangeKind::kUnsatisfiable:
      response = ProblemResponse(ProtocolProblem(416, "The range lies behind the end."));
      response.fields.emplace_back("Content-Range", "bytes */" + std::to_string(size));
      return;
    case RangeKind::kOne: break;
  }
  response.status = 206;
  response.fields.emplace_back("Content-Range", "bytes " + std::to_string(range.first) + "-" +
                                                    std::to_string(range.last) + "/" +
                                                    std::to_string(size));
  const std::size_t length = range.last - range.first + 1;
  if (response.shared) {
    response.shared->bytes = response.shared->bytes.substr(range.first, length);
  } else {
    response.body = response.body.substr(range.first, length);
  }
}

}  // namespace gopmill
