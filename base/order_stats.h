// SPDX-License-Identifier: Apache-2.0
//
// How far the units of one stream left the workers out of order, and how evenly they left: before
// the reorderer (completion order) and behind it (release order).
//
//   - out-of-order departure rate: share of the units that finish after one with a higher index has
//     finished (RFC 4737 section 3, type-P-reordered, on completion order);
//   - reordering extent: for such a unit, how many completions back the first one lies that it
//     should have preceded (RFC 4737 section 4.2.2); the maximum and the mean over reordered units;
//   - inter-departure deviation: standard deviation of the gaps between departures, ms;
//   - jitter: RFC 3550 section 6.4.1, J += (|D| - J) / 16 over the times at which units were sent:
//     their start on the media clock or, where a stream need not run in real time, when they were
//     submitted; ms.
//
// Pure; O(log n) per unit. Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"

namespace gopmill {

// Standard deviation and jitter of one sequence of departures.
class DepartureStats {
 public:
  // `media_seconds`: the unit's place on the output clock.
  void Add(TimePoint departed, double media_seconds);
  [[nodiscard]] double gap_deviation_ms() const;
  [[nodiscard]] double jitter_ms() const { return jitter_ms_; }
  [[nodiscard]] std::int64_t count() const { return count_; }

 private:
  std::int64_t count_ = 0;
  std::optional<TimePoint> last_;
  double last_media_ = 0;
  double gap_mean_ = 0, gap_m2_ = 0;  // Welford's running mean and sum of squares, ms
  double jitter_ms_ = 0;
};

class OrderStats {
 public:
  // Call in completion order, once per unit.
  void OnFinished(UnitIndex unit, TimePoint now, double media_seconds);
  // Call in release order, once per unit.
  void OnReleased(TimePoint now, double media_seconds) { after_.Add(now, media_seconds); }

  [[nodiscard]] std::int64_t finished() const { return finished_; }
  [[nodiscard]] std::int64_t reordered() const { return reordered_; }
  [[nodiscard]] double out_of_order_rate() const;
  [[nodiscard]] std::int64_t max_extent() const { return max_extent_; }
  [[nodiscard]] double mean_extent() const;
  [[nodiscard]] const DepartureStats& before() const { return before_; }
  [[nodiscard]] const DepartureStats& after() const { return after_; }

 private:
  struct Record {  // a completion with a higher index than all before it
    std::int64_t place;
    UnitIndex unit;
  };
  std::vector<Record> records_;  // ascending in both; older than any open gap are dropped
  std::int64_t finished_ = 0, reordered_ = 0, max_extent_ = 0;
  double extent_sum_ = 0;
  DepartureStats before_, after_;
};

// The streams of a run together: of units out of order the rate and the mean extent of them all, of
// gaps and jitter the means of the streams that have any. What nothing was measured of is empty.
class OrderMeans {
 public:
  void Add(const OrderStats& stream);
  [[nodiscard]] double out_of_order_rate() const;
  [[nodiscard]] std::int64_t max_extent() const { return max_extent_; }
  [[nodiscard]] std::optional<double> mean_extent() const { return extent_.value(); }
  [[nodiscard]] std::optional<double> gap_before_ms() const { return gap_before_.value(); }
  [[nodiscard]] std::optional<double> gap_after_ms() const { return gap_after_.value(); }
  [[nodiscard]] std::optional<double> jitter_before_ms() const { return jitter_before_.value(); }
  [[nodiscard]] std::optional<double> jitter_after_ms() const { return jitter_after_.value(); }

 private:
  struct Mean {
    double sum = 0, count = 0;
    void Add(double value, double weight = 1) { sum += value * weight, count += weight; }
    [[nodiscard]] std::optional<double> value() const {
      return count > 0 ? std::optional(sum / count) : std::nullopt;
    }
  };
  std::int64_t finished_ = 0, max_extent_ = 0;
  Mean extent_;  // its count is that of the reordered units
  Mean gap_before_, gap_after_, jitter_before_, jitter_after_;
};

}  // namespace gopmill
