// SPDX-License-Identifier: Apache-2.0
#include "server/http/target.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/library_path.h"
#include "base/percent_decoding.h"

namespace gopmill {
namespace {

// Far above what any request needs; keeps the check for doubles cheap.
constexpr std::size_t kMaxQueryParameters = 64;

Result<std::string> Decode(std::string_view raw, Plus plus, const std::string& parameter) {
  auto text = PercentDecoded(raw, plus);
  if (!text) return InvalidArgument(parameter, "A percent escape is not well-formed.", "%XX");
  GOPMILL_RETURN_IF_ERROR(CheckRequestText(parameter, *text));
  return *std::move(text);
}

Result<std::vector<std::string>> ParsePath(std::string_view path) {
  std::vector<std::string> segments;
  if (path == "/") return segments;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::size_t end = std::min(path.find('/'), path.size());
    GOPMILL_ASSIGN_OR_RETURN(std::string segment,
                             Decode(path.substr(0, end), Plus::kLiteral, "path"));
    GOPMILL_RETURN_IF_ERROR(CheckPathSegment(segment));
    segments.push_back(std::move(segment));
    path.remove_prefix(end);
  }
  return segments;
}

Status AddParameter(std::string_view pair, RequestParams& params) {
  const std::size_t equals = std::min(pair.find('='), pair.size());
  GOPMILL_ASSIGN_OR_RETURN(std::string name, Decode(pair.substr(0, equals), Plus::kBlank, "query"));
  if (name.empty()) return InvalidArgument("query", "A query parameter has no name.");
  const std::string_view raw = equals < pair.size() ? pair.substr(equals + 1) : std::string_view();
  GOPMILL_ASSIGN_OR_RETURN(std::string value, Decode(raw, Plus::kBlank, name));
  const auto same_name = [&name](const auto& param) { return param.first == name; };
  if (std::ranges::any_of(params, same_name)) {
    return InvalidArgument(name, "The query parameter '" + name + "' is given twice.", "one value");
  }
  if (params.size() == kMaxQueryParameters) {
    return InvalidArgument("query", "There are too many query parameters.",
                           "at most " + std::to_string(kMaxQueryParameters));
  }
  params.emplace_back(std::move(name), std::move(value));
  return OkStatus();
}

Result<RequestParams> ParseQuery(std::string_view query) {
  RequestParams params;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find_first_of("&;"), query.size());
    if (end > 0) GOPMILL_RETURN_IF_ERROR(AddParameter(query.substr(0, end), params));
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return params;
}

// The absolute form names scheme and authority first; a server must accept it and may ignore them.
std::string_view StripAuthority(std::string_view raw) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!raw.starts_with(scheme)) continue;
    const std::size_t slash = raw.find('/', scheme.size());
    return slash == std::string_view::npos ? std::string_view("/") : raw.substr(slash);
  }
  return raw;
}

}  // namespace

Result<RequestTarget> ParseTarget(std::string_view raw) {
  const std::string_view target = StripAuthority(raw);
  if (!target.starts_with('/')) {
    return InvalidArgument("path", "The request target must start with a slash.");
  }
  if (target.find('#') != std::string_view::npos) {
    return InvalidArgument("path", "The request target must not have a fragment.", "%23 for '#'");
  }
  const std::size_t question = std::min(target.find('?'), target.size());
  RequestTarget result;
  GOPMILL_ASSIGN_OR_RETURN(result.segments, ParsePath(target.substr(0, question)));
  if (question < target.size()) {
    GOPMILL_ASSIGN_OR_RETURN(result.query, ParseQuery(target.substr(question + 1)));
  }
  return result;
}

}  // namespace gopmill
