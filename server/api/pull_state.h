// SPDX-License-Identifier: Apache-2.0
//
// The state of fetching a live source from elsewhere (setting `sources`), told by the thread that
// fetches it and shown to clients.
//
// Thread-safety: compatible.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"

namespace gopmill {

enum class PullPhase {
  kIdle,        // nobody reads it
  kConnecting,  // nothing has come yet
  kPlaying,
  kWaiting,  // for the next attempt
};
// "idle", "connecting", ...
const char* Name(PullPhase phase);

struct PullState {
  PullPhase phase = PullPhase::kIdle;
  WallTime since = WallNow();               // of the phase
  std::int64_t attempts = 0, failures = 0;  // so far
  std::string last_error;                   // of the newest failure; it may be shown to anybody
};

}  // namespace gopmill
