// SPDX-License-Identifier: Apache-2.0
//
// Start-time fair queueing of worker time among service classes, machine-wide.
//
// Each class has a tag in weighted worker time. Of the classes with units, the one with the
// smallest tag is served next; its tag then grows by (time of the unit) / weight: by the predicted
// time when the unit starts, corrected by the measured time when it ends. The virtual clock is the
// tag of the class served last; a class that was away starts at the clock, so that it neither saves
// up what it did not use nor pays for what others lent it. Weights may change (guarantees make them
// depend on which classes have units, EffectiveWeights): what a class has had beyond the clock then
// stays the same worker time.
//
// One account serves all workers, so others are served, and move the clock on, while a unit runs.
// If that ends sooner than predicted, its class was charged too much and may be due before the
// clock: then the clock goes back to it, never to before the oldest of its running units began. It
// does not for a class that the clock had passed although it was charged in full: that had nothing
// waiting then, or was passed over (at its maximum), and has no claim to what others had.
//
// Tags and clock count from a point that moves along (kMostClock): sums for all time would grow
// until the unit of a heavy class is lost in their rounding. The light ones get them there soon:
// 0.1 s of weight 1e-6 are 1e14, where tags are 0.016 apart.
//
// Guarantee: for two classes with units all the time, served_i / w_i and served_j / w_j differ in
// any window by at most one unit of each per worker, the longest there was, as predicted or as
// measured, however wrong predictions are (tested). Source: P. Goyal, H. M. Vin, H. Cheng,
// "Start-Time Fair Queueing", IEEE/ACM ToN 5(5), 1997; charging by prediction, its correction and
// the one account are ours.
//
// Thread-safety: compatible.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "scheduler/service_class.h"

namespace gopmill {

class FairQueue {
 public:
  explicit FairQueue(std::span<const ServiceClass> classes) : tags_(classes.size(), 0.0) {
    for (const ServiceClass& c : classes) weights_.push_back(c.weight);
  }

  [[nodiscard]] double WeightOf(std::size_t c) const { return weights_[c]; }
  // `weight` > 0.
  void SetWeight(std::size_t c, double weight) {
    if (tags_[c] > clock_) tags_[c] = clock_ + (tags_[c] - clock_) * weights_[c] / weight;
    weights_[c] = weight;
  }

  // Where the class stands: the smallest of those with units is next.
  [[nodiscard]] double TagOf(std::size_t c) const { return std::max(tags_[c], clock_); }

  // A unit of the class starts; `expected` ns, 0 = not known.
  void Start(std::size_t c, double expected) {
    clock_ = TagOf(c);
    tags_[c] = clock_ + expected / weights_[c];
    if (clock_ > kMostClock) StartAnew();
  }
  // It ended after `took` ns.
  void Finish(std::size_t c, double expected, double took) {
    const bool with_the_clock = tags_[c] >= clock_;
    tags_[c] += (took - expected) / weights_[c];
    if (with_the_clock) clock_ = std::min(clock_, tags_[c]);
  }

 private:
  // Doubles are 1.2e-7 apart there. A millisecond of the greatest weight that may be asked for
  // (1e6, service_class.cc) is 1, of one that a guarantee raises a thousandfold beyond it 0.001.
  static constexpr double kMostClock = 1e9;

  void StartAnew() {
    for (double& tag : tags_) tag -= clock_;
    clock_ = 0;
  }

  std::vector<double> weights_;
  std::vector<double> tags_;
  double clock_ = 0;
};

}  // namespace gopmill
