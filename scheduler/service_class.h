// SPDX-License-Identifier: Apache-2.0
//
// Service classes: what the proportional-share policies divide the machine among.
//
// Thread-safety: compatible (plain values).
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace gopmill {

inline constexpr int kMaxClasses = 64;

struct ServiceClass {
  std::string name = "default";
  // Cores are shared among backlogged classes in proportion to it. 1e-6 to 1e6.
  double weight = 1;
  // Share of the machine that the class gets whatever the others do, in [0, 1]; together <= 1.
  double guaranteed = 0;
  // Most workers it may use at once while other classes wait (ps-hrw, gps-hrw); 0 = all.
  int max_workers = 0;
  // Within which a unit should be finished after it was submitted; 0 = none. What the run-time
  // allocation layers (everest) divide by the mean time of a unit.
  Duration deadline{};
};

// Ok if names are distinct and every field is in its range; else says which class and what.
Status ValidateClasses(const std::vector<ServiceClass>& classes);

// "live:5,vod:3:0.2,batch:1" -> classes: NAME:WEIGHT[:GUARANTEED[:MAX_WORKERS[:DEADLINE_MS]]]. The
// error names the position.
Result<std::vector<ServiceClass>> ParseClasses(const std::string& text);

// By class; 0 = none, where the class has no units.
using ClassWeights = std::array<double, kMaxClasses>;

// Ok unless a class is guaranteed more of so many workers than the most that it may use.
Status CheckGuarantees(std::span<const ServiceClass> classes, int workers);

// The weights that give each of the classes with units (bit c of `backlogged`) its part of the
// workers by weight, but none less than its guarantee, if one at its maximum is served after the
// others: what that may not have is theirs. Classes that need no guarantee keep their own weight.
// What the guarantees of others leave nothing of still has a weight above 0.
ClassWeights EffectiveWeights(std::span<const ServiceClass> classes, std::uint64_t backlogged,
                              int workers);

// Each class's part of the workers while all classes have units: by weight, but none below its
// guarantee or above its maximum. What start-time fair queueing by effective weights comes to
// (share_policy.h); adds up to 1, so maxima that leave workers over are exceeded.
std::vector<double> AssuredShares(const std::vector<ServiceClass>& classes, int workers);

}  // namespace gopmill
