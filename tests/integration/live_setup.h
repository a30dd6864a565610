// SPDX-License-Identifier: Apache-2.0
//
// A live presentation for tests: pictures alone in one rendition, a segment for each GOP.
#pragma once

#include <memory>
#include <utility>

#include "server/live/live_clock.h"
#include "server/live/live_presentation.h"

namespace gopmill {

inline LiveSetup OneRendition(std::shared_ptr<LiveClock> clock) {
  LiveSetup setup;
  setup.terms.version = "1";
  setup.terms.window = {.listed_seconds = 600, .target_seconds = 2};
  setup.terms.targets.resize(1);
  setup.terms.thumbnail = {.width = 192, .height = 108};
  setup.cut = {.part_frames = 1000, .segment_frames = 1};
  setup.max_bytes = std::size_t{64} << 20U;
  setup.clock = std::move(clock);
  setup.on_change = [] {};
  return setup;
}

}  // namespace gopmill
