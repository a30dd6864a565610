// SPDX-License-Identifier: Apache-2.0
//
// How much work the pictures of a unit get: what a live stream gives up, step by step, on a machine
// that does not keep up with it. All steps have the same frame grid. All but the last have the same
// size and parameter sets, so that their units join like any others; that one is for outputs that
// carry parameter sets in front of each GOP (WithHalfSize).
//
// Thread-safety: safe (constants).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gopmill {

enum class Effort : std::uint8_t {
  kFull,         // what was asked for
  kFaster,       // H.264: the encoder searches less, at the same rate; others do not have it
  kHalfRate,     // and every second picture is the one before it again
  kQuarterRate,  // and every second to fourth picture of four
  kHalfSize,     // and pictures half as wide and high
};
inline constexpr int kEfforts = 5;
inline constexpr std::array<const char*, kEfforts> kEffortNames{"full", "faster", "half-rate",
                                                                "quarter-rate", "half-size"};

constexpr const char* Name(Effort effort) {
  return kEffortNames.at(static_cast<std::size_t>(effort));
}

// Of so many pictures one is made; the others repeat it.
constexpr int FrameStep(Effort effort) {
  if (effort >= Effort::kQuarterRate) return 4;
  return effort == Effort::kHalfRate ? 2 : 1;
}

}  // namespace gopmill
