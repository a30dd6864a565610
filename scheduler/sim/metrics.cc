// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gopmill::sim {

void GapSpread::Departed(double at_ms) {
  if (last_ms_ >= 0) {
    const double gap = at_ms - last_ms_;
    ++gaps_;
    const double delta = gap - mean_;
    mean_ += delta / static_cast<double>(gaps_);
    squares_ += delta * (gap - mean_);
  }
  last_ms_ = at_ms;
}

double GapSpread::Deviation() const {
  return gaps_ < 2 ? 0 : std::sqrt(squares_ / static_cast<double>(gaps_ - 1));
}

double Percentile(std::span<float> values, double p) {
  if (values.empty()) return 0;
  const double place = std::ceil(p * static_cast<double>(values.size())) - 1;
  const auto index = static_cast<std::ptrdiff_t>(std::max(0.0, place));
  std::nth_element(values.begin(), values.begin() + index, values.end());
  return values[static_cast<std::size_t>(index)];
}

OrderMetrics::OrderMetrics(const Workload& workload)
    : workload_(workload),
      streams_(workload.streams.size()),
      submitted_ms_(workload.units.size(), -1) {
  latency_ms_.reserve(workload.units.size());
}

void OrderMetrics::Finished(std::uint32_t stream, std::uint32_t index, double submitted_ms,
                            double finished_ms) {
  Stream& state = streams_[stream];
  latency_ms_.push_back(static_cast<float>(finished_ms - submitted_ms));
  latency_sum_ms_ += finished_ms - submitted_ms;
  state.before.Departed(finished_ms);
  if (static_cast<std::int64_t>(index) < state.highest_finished) {
    ++out_of_order_;
    const auto extent = static_cast<std::uint64_t>(state.highest_finished - index);
    extent_sum_ += extent;
    max_extent_ = std::max(max_extent_, extent);
  } else {
    state.highest_finished = index;
  }
  submitted_ms_[workload_.streams[stream].first_unit + index] = submitted_ms;
  Release(stream, finished_ms);
}

// Lets go what is complete in order, all at this moment.
void OrderMetrics::Release(std::uint32_t stream, double now_ms) {
  Stream& state = streams_[stream];
  const SimStream& planned = workload_.streams[stream];
  while (state.next_release < planned.unit_count) {
    const double submitted = submitted_ms_[planned.first_unit + state.next_release];
    if (submitted < 0) return;
    state.after.Departed(now_ms);
    const double transit = now_ms - submitted;
    if (state.next_release > 0) {
      state.rfc3550_ms += (std::abs(transit - state.last_transit_ms) - state.rfc3550_ms) / 16;
    }
    state.last_transit_ms = transit;
    ++state.next_release;
  }
}

void OrderMetrics::AddTo(SimResult& result) {
  const auto units = static_cast<double>(latency_ms_.size());
  if (latency_ms_.empty()) return;
  result.units = latency_ms_.size();
  result.out_of_order = static_cast<double>(out_of_order_) / units;
  if (out_of_order_ > 0) {
    result.mean_extent = static_cast<double>(extent_sum_) / static_cast<double>(out_of_order_);
  }
  result.max_extent = max_extent_;
  double streams = 0;
  for (const Stream& stream : streams_) {
    if (stream.before.empty()) continue;
    ++streams;
    result.jitter_before_ms += stream.before.Deviation();
    result.jitter_after_ms += stream.after.Deviation();
    result.rfc3550_jitter_ms += stream.rfc3550_ms;
  }
  streams = std::max(streams, 1.0);
  result.jitter_before_ms /= streams;
  result.jitter_after_ms /= streams;
  result.rfc3550_jitter_ms /= streams;
  result.mean_latency_ms = latency_sum_ms_ / units;
  result.p50_ms = Percentile(latency_ms_, 0.50);
  result.p95_ms = Percentile(latency_ms_, 0.95);
  result.p99_ms = Percentile(latency_ms_, 0.99);
  result.max_latency_ms = *std::ranges::max_element(latency_ms_);
}

void IdleMetrics::Advance(double now_ms) {
  const double passed = now_ms - last_ms_;
  last_ms_ = now_ms;
  const bool bad = waiting_ > 0 && idle_ > 0;
  // Within one moment units may wait for the policy to be asked; only time counts.
  if (passed <= 0) return;
  if (!bad) {
    since_ms_ = -1;
    return;
  }
  if (since_ms_ < 0) since_ms_ = now_ms - passed;
  worker_ms_ += passed * static_cast<double>(std::min(waiting_, idle_));
  longest_ms_ = std::max(longest_ms_, now_ms - since_ms_);
}

ShareMetrics::ShareMetrics(const Workload& workload, double window_ms)
    : workload_(workload),
      window_ms_(window_ms),
      waiting_(workload.classes.size(), 0),
      empty_since_ms_(workload.classes.size(), 0) {}

std::size_t ShareMetrics::WindowAt(double ms) const {
  return static_cast<std::size_t>(std::max(0.0, ms) / window_ms_);
}

void ShareMetrics::Grow(std::size_t windows) {
  if (served_.size() >= windows) return;
  served_.resize(windows, std::vector<double>(workload_.classes.size(), 0));
  contested_.resize(windows, 1);
}

void ShareMetrics::MarkEmpty(double from_ms, double to_ms) {
  if (to_ms <= from_ms) return;
  Grow(WindowAt(to_ms) + 1);
  for (std::size_t w = WindowAt(from_ms); w <= WindowAt(to_ms); ++w) contested_[w] = 0;
}

void ShareMetrics::Waiting(int service_class, int change, double now_ms) {
  if (waiting_.size() < 2) return;
  const auto c = static_cast<std::size_t>(service_class);
  end_ms_ = std::max(end_ms_, now_ms);
  const bool was_empty = waiting_[c] == 0;
  waiting_[c] += change;
  if (was_empty && waiting_[c] > 0) {
    MarkEmpty(empty_since_ms_[c], now_ms);
    empty_since_ms_[c] = -1;
  } else if (!was_empty && waiting_[c] == 0) {
    empty_since_ms_[c] = now_ms;
  }
}

void ShareMetrics::Ran(int service_class, double from_ms, double to_ms) {
  const auto c = static_cast<std::size_t>(service_class);
  end_ms_ = std::max(end_ms_, to_ms);
  Grow(WindowAt(to_ms) + 1);
  for (std::size_t w = WindowAt(from_ms); w <= WindowAt(to_ms); ++w) {
    const double begin = std::max(from_ms, static_cast<double>(w) * window_ms_);
    const double end = std::min(to_ms, static_cast<double>(w + 1) * window_ms_);
    served_[w][c] += std::max(0.0, end - begin);
  }
}

void ShareMetrics::AddTo(SimResult& result) const {
  std::vector<char> contested = contested_;
  for (const double since : empty_since_ms_) {
    if (since < 0) continue;
    for (std::size_t w = WindowAt(since); w < contested.size(); ++w) contested[w] = 0;
  }
  // The last window is not a whole one.
  if (!contested.empty()) contested[contested.size() - 1] = 0;
  double weights = 0;
  for (const ServiceClass& service_class : workload_.classes) weights += service_class.weight;
  std::vector<double> total(workload_.classes.size(), 0);
  for (std::size_t w = 0; w < contested.size(); ++w) {
    const double sum = std::accumulate(served_[w].begin(), served_[w].end(), 0.0);
    for (std::size_t c = 0; c < total.size(); ++c) {
      result.classes[c].busy_ms += served_[w][c];
      if (contested[w] == 0 || sum <= 0) continue;
      total[c] += served_[w][c];
      const double wanted = workload_.classes[c].weight / weights;
      result.share_error = std::max(result.share_error, std::abs(served_[w][c] / sum - wanted));
    }
    if (contested[w] != 0 && sum > 0) ++result.share_windows;
  }
  const double sum = std::accumulate(total.begin(), total.end(), 0.0);
  for (std::size_t c = 0; c < total.size(); ++c) {
    result.classes[c].share = sum > 0 ? total[c] / sum : 0;
  }
}

}  // namespace gopmill::sim
