// SPDX-License-Identifier: Apache-2.0
#include "server/api/pull_state.h"

namespace gopmill {

const char* Name(PullPhase phase) {
  switch (phase) {
    case PullPhase::kIdle: return "idle";
    case PullPhase::kConnecting: return "connecting";
    case PullPhase::kPlaying: return "playing";
    case PullPhase::kWaiting: return "waiting";
  }
  return "";
}

}  // namespace gopmill
