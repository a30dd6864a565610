// SPDX-License-Identifier: Apache-2.0
#include "server/live/standing_presentations.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/words.h"
#include "server/api/live_name.h"
#include "server/api/query.h"

namespace gopmill {
namespace {

constexpr const char* kSetting = "live.presentations";

Result<LiveRequest> ParseStanding(std::string_view text, const SegmentDefaults& defaults) {
  const std::size_t question = std::min(text.find('?'), text.size());
  const std::string name(text.substr(0, question));
  GOPMILL_RETURN_IF_ERROR(CheckLiveName(name));
  text.remove_prefix(std::min(question + 1, text.size()));
  GOPMILL_ASSIGN_OR_RETURN(RequestParams params, ParseQuery(text));
  GOPMILL_ASSIGN_OR_RETURN(LiveRequest request,
                           ParseLiveRequest({.path = std::string(kLivePrefix) + name,
                                             .name = "master.m3u8",
                                             .params = std::move(params),
                                             .if_none_match = {}},
                                            defaults));
  if (request.ask.versioned) {
    return InvalidArgument("version", "A version names one that runs already.", "no version");
  }
  return request;
}

// By its number: where blanks are missing or too many, nothing else says which one is meant.
Error Refused(std::size_t number, const Error& why) {
  const std::string parameter = why.parameter.empty() ? "" : ", " + why.parameter;
  return InvalidArgument(
      kSetting, fmt::format("Presentation {}{}: {}", number, parameter, why.message), why.accepted);
}

}  // namespace

Result<std::vector<LiveRequest>> ParseStandingPresentations(std::string_view text,
                                                            const SegmentDefaults& defaults) {
  const auto words = Words(text);
  if (words.size() > kMaxStandingPresentations) {
    return InvalidArgument(kSetting, fmt::format("These are {} presentations.", words.size()),
                           fmt::format("{} at most", kMaxStandingPresentations));
  }
  std::vector<LiveRequest> standing;
  for (const std::string_view word : words) {
    auto request = ParseStanding(word, defaults);
    if (!request.ok()) return Refused(standing.size() + 1, request.error());
    if (std::ranges::find(standing, request->key, &LiveRequest::key) != standing.end()) {
      return InvalidArgument(kSetting, fmt::format("Presentation {} is there twice: {}.",
                                                   standing.size() + 1, TextOfStanding(*request)));
    }
    standing.push_back(*std::move(request));
  }
  return standing;
}

std::string TextOfStanding(const LiveRequest& request) {
  const std::string query = QueryFor(request.shared, "");
  return request.source + query.substr(0, query.rfind("version=") - 1);
}

}  // namespace gopmill
