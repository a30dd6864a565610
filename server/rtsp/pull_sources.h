// SPDX-License-Identifier: Apache-2.0
//
// The setting `sources`: what is fetched from other RTSP servers, and under which name.
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
};

bool OverUdp(const PullSource& source);

// "cam=rtsp://host/path lobby=rtsp://...". Errors name the source that is meant, and never its URL.
Result<std::vector<PullSource>> ParsePullSources(std::string_view text);

// What logs may show of a URL: scheme, host and port. Many cameras have a password in the path.
std::string PeerOf(std::string_view url);

}  // namespace gopmill
