// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/pull_sources.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "base/words.h"
#include "server/api/live_name.h"

namespace gopmill {
namespace {

constexpr std::array<std::string_view, 3> kSchemes{"rtsp://", "rtspt://", "rtspu://"};
constexpr std::string_view kAccepted =
    "NAME=rtsp://HOST/PATH, or rtspt:// (TCP) or rtspu:// (UDP); rtsps:// is not supported";

// Where a name is missing, what stands there may be a URL with a password up to an '='.
std::string WhichOne(std::size_t number, std::string_view name) {
  std::string which = "Source " + std::to_string(number);
  if (!name.empty() && name.find_first_of("@:") == std::string_view::npos) {
    which += " (" + std::string(name) + ")";
  }
  return which;
}

// What stands in front of the path.
std::string_view AuthorityOf(std::string_view url) {
  url.remove_prefix(url.find("://") + 3);
  return url.substr(0, url.find_first_of("/?#"));
}

// The host and, behind its last ':', the port.
std::string_view HostOf(std::string_view url) {
  std::string_view authority = AuthorityOf(url);
  authority.remove_prefix(authority.rfind('@') + 1);  // npos + 1 is 0
  return authority;
}

// Whether somebody can be there. A host in brackets is an IPv6 address (RFC 3986, 3.2.2).
bool IsPlace(std::string_view host) {
  const std::size_t bracket = host.find(']');
  const bool address = host.starts_with('[') && bracket != std::string_view::npos;
  const std::size_t colon = host.find(':', address ? bracket : 0);
  if (host.substr(0, colon).empty() || (address && bracket == 1)) return false;
  if (colon == std::string_view::npos) return !address || bracket + 1 == host.size();
  const std::string_view text = host.substr(colon + 1);
  std::uint16_t port = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), port);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() && port > 0 &&
         (!address || colon == bracket + 1);
}

Status CheckUrl(std::string_view url, const std::string& which) {
  if (url.starts_with("rtsps://")) {
    return InvalidArgument("sources",
                           which + " is RTSP over TLS (rtsps://), which is not supported.",
                           std::string(kAccepted));
  }
  const bool known = std::ranges::any_of(
      kSchemes, [&](std::string_view scheme) { return url.starts_with(scheme); });
  if (!known || AuthorityOf(url).empty()) {
    return InvalidArgument("sources", which + " is not understood.", std::string(kAccepted));
  }
  const bool has_user = AuthorityOf(url).find('@') != std::string_view::npos;
  if (!has_user && url.find('@') != std::string_view::npos) {
    return InvalidArgument(
        "sources", which + " has an '@' behind the host.",
        "%2F, %3F and %23 for '/', '?' and '#' in a password, %40 for '@' in a path");
  }
  if (!IsPlace(HostOf(url))) {
    return InvalidArgument("sources", which + " has no host, or a port that is none.",
                           "HOST or HOST:PORT, a port of 1 to 65535, IPv6 as [::1]");
  }
  return OkStatus();
}

Result<PullSource> ParseOne(std::string_view text, std::size_t number) {
  const std::size_t equals = std::min(text.find('='), text.size());
  PullSource source{.name = std::string(text.substr(0, equals)),
                    .url = std::string(text.substr(std::min(equals + 1, text.size())))};
  // Without an '=' it may be anything, also what belongs to another setting.
  const std::string which = WhichOne(number, source.url.empty() ? "" : source.name);
  GOPMILL_RETURN_IF_ERROR(CheckUrl(source.url, which));
  if (const Status name = CheckLiveName(source.name); !name.ok()) {
    return InvalidArgument("sources", which + " cannot be the name of a live source.",
                           name.error().accepted);
  }
  return source;
}

Status SetAlways(std::string_view pull, std::vector<PullSource>& sources) {
  if (pull == "on-demand") return OkStatus();
  if (pull == "always") {
    for (PullSource& source : sources) source.always = true;
    return OkStatus();
  }
  for (const std::string_view part : Split(pull, ',')) {
    const auto named = std::ranges::find(sources, Trim(part), &PullSource::name);
    if (named == sources.end()) {
      return InvalidArgument("live.pull", "No source is called '" + std::string(Trim(part)) + "'.",
                             "on-demand, always, or names of sources with commas");
    }
    named->always = true;
  }
  return OkStatus();
}

}  // namespace

Result<std::vector<PullSource>> ParsePullSources(std::string_view text, std::string_view pull) {
  std::vector<PullSource> sources;
  for (const std::string_view one : Words(text)) {
    GOPMILL_ASSIGN_OR_RETURN(PullSource source, ParseOne(one, sources.size() + 1));
    if (std::ranges::find(sources, source.name, &PullSource::name) != sources.end()) {
      return InvalidArgument("sources", "Two sources are called " + source.name + ".");
    }
    sources.push_back(std::move(source));
  }
  GOPMILL_RETURN_IF_ERROR(SetAlways(pull, sources));
  return sources;
}

bool OverUdp(const PullSource& source) { return source.url.starts_with("rtspu://"); }

std::string PeerOf(std::string_view url) {
  return std::string(url.substr(0, url.find("://") + 3)) + std::string(HostOf(url));
}

}  // namespace gopmill
