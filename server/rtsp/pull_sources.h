// SPDX-License-Identifier: Apache-2.0
//
// The settings `sources` and `live.pull`: what is fetched from other RTSP servers, under which
// name, and when.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace gopmill {

struct PullSource {
  std::string name;  // as in live/NAME
  std::string url;   // rtsp:// (over TCP), rtspt:// (TCP), rtspu:// (UDP); may hold user:password@
  bool always = false;  // not only while somebody reads it
};

bool OverUdp(const PullSource& source);

// `sources`: "cam=rtsp://host/path lobby=rtsp://...". `pull`: "on-demand", "always", or the names
// of those that are always fetched, with commas. Errors name the source that is meant, and never
// its URL.
Result<std::vector<PullSource>> ParsePullSources(std::string_view sources,
                                                 std::string_view pull = "on-demand");

// What logs may show of a URL: scheme, host and port. Many cameras have a password in the path.
std::string PeerOf(std::string_view url);

}  // namespace gopmill
