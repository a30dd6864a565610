// SPDX-License-Identifier: Apache-2.0
//
// Which step of the ladder (codec/effort.h) the units of a live stream get: down when units come
// out behind their deadlines, up again when they have been in time for a while.
//
// A step is judged by units that were submitted after it was taken. Going up is tried after
// `patience` without a late unit; when the step up fails soon, the patience doubles, up to
// kLongestPatience, so that a stream that is too heavy for good does not swing.
//
// Pure: times are what it is told. Thread-safety: compatible.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>

#include "base/clock.h"
#include "codec/effort.h"

namespace gopmill {

class Degradation {
 public:
  static constexpr int kLateUnits = 3;  // of kWindow, then a step is given up
  static constexpr int kWindow = 4;
  static constexpr std::chrono::seconds kFirstPatience{10}, kLongestPatience{160};

  struct Steps {             // that not every stream has
    bool faster = true;      // Effort::kFaster: its encoder knows it
    bool half_size = false;  // Effort::kHalfSize: its output carries it
  };
  Degradation() = default;
  explicit Degradation(const Steps& steps) : steps_(steps) {}

  [[nodiscard]] Effort effort() const { return effort_; }
  // For the unit that is submitted now, by the first frame of its GOP. A GOP is made with one
  // effort, so that it can be made again.
  Effort ForUnit(std::int64_t gop_frame, bool ends_gop);

  struct Made {  // a unit that has been finished
    Effort effort = Effort::kFull;
    TimePoint submitted, due, finished;
    Duration media{};  // its length
  };
  // True when the effort changes by it. Units shorter than kJudged are judged together; those of
  // another effort than the present one say nothing.
  bool OnUnit(const Made& unit);

 private:
  static constexpr std::chrono::milliseconds kJudged{450};
  bool Judge(TimePoint submitted, TimePoint finished, bool late);
  void Step(int by, TimePoint now);
  [[nodiscard]] Effort Lowest() const {
    return steps_.half_size ? Effort::kHalfSize : Effort::kQuarterRate;
  }

  Steps steps_;
  Effort effort_ = Effort::kFull;
  TimePoint since_ = {};     // of the effort
  TimePoint in_time_ = {};   // since when no unit was late
  TimePoint tried_up_ = {};  // the last step up
  Duration patience_ = kFirstPatience;
  std::uint32_t late_ = 0, seen_ = 0;    // of the newest units one bit each, and how many there are
  std::map<std::int64_t, Effort> gops_;  // that go on, by their first frame
  TimePoint begun_ = {};                 // short units, until they are judged
  Duration media_{}, over_{};            // of them: length; by how much they were late
};

}  // namespace gopmill
