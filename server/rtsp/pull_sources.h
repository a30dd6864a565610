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

// "cam=rtsp://host/path lobby=rtsp://..."
Result<std::vector<PullSource>> ParsePullSources(std::string_view text);

// The URL as logs may show it: without user and password.
std::string PublicUrl(std::string_view url);

}  // namespace gopmill
