// SPDX-License-Identifier: Apache-2.0
#include "base/order_stats.h"

#include <algorithm>
#include <cmath>

#include "base/status.h"

namespace gopmill {
namespace {
// Records kept at least: far more than any window of units in flight. Half of twice as many are
// dropped at once, so that streams of millions of units do not pay for it with each.
constexpr std::size_t kKeptRecords = 4096;
}  // namespace

void DepartureStats::Add(TimePoint departed, double media_seconds) {
  ++count_;
  if (last_) {
    const double gap = ToMillis(departed - *last_);
    const auto gaps = static_cast<double>(count_ - 1);
    const double delta = gap - gap_mean_;
    gap_mean_ += delta / gaps;
    gap_m2_ += delta * (gap - gap_mean_);
    const double transit = gap - (media_seconds - last_media_) * 1000.0;
    jitter_ms_ += (std::abs(transit) - jitter_ms_) / 16.0;
  }
  last_ = departed;
  last_media_ = media_seconds;
}

double DepartureStats::gap_deviation_ms() const {
  const std::int64_t gaps = count_ - 1;
  return gaps < 2 ? 0.0 : std::sqrt(gap_m2_ / static_cast<double>(gaps - 1));
}

void OrderStats::OnFinished(UnitIndex unit, TimePoint now, double media_seconds) {
  const std::int64_t place = finished_++;
  before_.Add(now, media_seconds);
  if (records_.empty() || unit > records_.back().unit) {
    if (records_.size() == 2 * kKeptRecords) {
      records_.erase(records_.begin(), records_.begin() + kKeptRecords);
    }
    records_.push_back({place, unit});
    return;
  }
  GOPMILL_CHECK(unit != records_.back().unit);  // once per unit
  ++reordered_;
  const auto first = std::upper_bound(records_.begin(), records_.end(), unit,
                                      [](UnitIndex a, const Record& b) { return a < b.unit; });
  const std::int64_t extent = place - first->place;
  max_extent_ = std::max(max_extent_, extent);
  extent_sum_ += static_cast<double>(extent);
}

double OrderStats::out_of_order_rate() const {
  return finished_ == 0 ? 0.0 : static_cast<double>(reordered_) / static_cast<double>(finished_);
}

double OrderStats::mean_extent() const {
  return reordered_ == 0 ? 0.0 : extent_sum_ / static_cast<double>(reordered_);
}

void OrderMeans::Add(const OrderStats& stream) {
  finished_ += stream.finished();
  extent_.Add(stream.mean_extent(), static_cast<double>(stream.reordered()));
  max_extent_ = std::max(max_extent_, stream.max_extent());
  // One unit has no gap, and one gap differs from nothing.
  if (stream.finished() > 1) {
    jitter_before_.Add(stream.before().jitter_ms());
    jitter_after_.Add(stream.after().jitter_ms());
  }
  if (stream.finished() > 2) {
    gap_before_.Add(stream.before().gap_deviation_ms());
    gap_after_.Add(stream.after().gap_deviation_ms());
  }
}

double OrderMeans::out_of_order_rate() const {
  return finished_ == 0 ? 0.0 : extent_.count / static_cast<double>(finished_);
}

}  // namespace gopmill
