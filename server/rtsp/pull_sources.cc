// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/pull_sources.h"

#include <algorithm>
#include <array>

#include "base/words.h"
#include "server/session/live_hub.h"

namespace gopmill {
namespace {

constexpr std::array<std::string_view, 3> kSchemes{"rtsp://", "rtspt://", "rtspu://"};

Result<PullSource> ParseOne(std::string_view text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string_view url = text.substr(std::min(equals + 1, text.size()));
  const auto* scheme = std::ranges::find_if(
      kSchemes, [&](std::string_view prefix) { return url.starts_with(prefix); });
  if (scheme == kSchemes.end() || url.size() == scheme->size()) {
    return InvalidArgument("sources", "A source is not understood.", "NAME=rtsp://HOST/PATH");
  }
  PullSource source{.name = std::string(text.substr(0, equals)), .url = std::string(url)};
  // Where a name is missing, this may be a URL with a password up to an '='.
  const bool may_be_shown = source.name.find('@') == std::string::npos;
  GOPMILL_RETURN_IF_ERROR(may_be_shown ? CheckNameSetting("sources", source.name)
                                       : CheckLiveName(source.name));
  return source;
}

}  // namespace

Result<std::vector<PullSource>> ParsePullSources(std::string_view text) {
  std::vector<PullSource> sources;
  for (const std::string_view one : Words(text)) {
    GOPMILL_ASSIGN_OR_RETURN(PullSource source, ParseOne(one));
    if (std::ranges::find(sources, source.name, &PullSource::name) != sources.end()) {
      return InvalidArgument("sources", "Two sources are called " + source.name + ".");
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

bool OverUdp(const PullSource& source) { return source.url.starts_with("rtspu://"); }

std::string PublicUrl(std::string_view url) {
  const std::size_t host = url.find("://") + 3;
  const std::size_t path = std::min(url.find('/', host), url.size());
  const std::size_t at = url.substr(0, path).rfind('@');
  if (at == std::string_view::npos || at < host) return std::string(url);
  return std::string(url.substr(0, host)) + std::string(url.substr(at + 1));
}

}  // namespace gopmill
