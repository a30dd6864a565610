// SPDX-License-Identifier: Apache-2.0
//
// The time of day, as text for machines: ISO 8601, UTC.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>

#include "base/clock.h"

namespace gopmill {

std::string UtcSeconds(WallTime time);  // like 2026-11-27T20:15:00Z; parts of seconds are cut off
std::string UtcMillis(WallTime time);   // like 2026-11-27T20:15:00.250Z

}  // namespace gopmill
