// SPDX-License-Identifier: Apache-2.0
#include "server/api/query.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/library_path.h"
#include "base/percent_decoding.h"

namespace gopmill {
namespace {

// Far above what any request needs; keeps the check for doubles cheap.
constexpr std::size_t kMaxQueryParameters = 64;

Status AddParameter(std::string_view pair, RequestParams& params) {
  const std::size_t equals = std::min(pair.find('='), pair.size());
  GOPMILL_ASSIGN_OR_RETURN(std::string name,
                           DecodeEscapes(pair.substr(0, equals), Plus::kBlank, "query"));
  if (name.empty()) return InvalidArgument("query", "A query parameter has no name.");
  const std::string_view raw = equals < pair.size() ? pair.substr(equals + 1) : std::string_view();
  GOPMILL_ASSIGN_OR_RETURN(std::string value, DecodeEscapes(raw, Plus::kBlank, name));
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

}  // namespace

Result<std::string> DecodeEscapes(std::string_view raw, Plus plus, const std::string& parameter) {
  auto text = PercentDecoded(raw, plus);
  if (!text) return InvalidArgument(parameter, "A percent escape is not well-formed.", "%XX");
  GOPMILL_RETURN_IF_ERROR(CheckRequestText(parameter, *text));
  return *std::move(text);
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

}  // namespace gopmill
