// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "base/quantile.h"

namespace gopmill::sim {
namespace {

TimePoint AtMillis(double ms) { return TimePoint(Duration(std::llround(ms * 1e6))); }

}  // namespace

OrderMetrics::OrderMetrics(const Workload& workload)
    : workload_(workload),
      streams_(workload.streams.size()),
      submitted_ms_(workload.units.size(), kNotMeasured) {
  latency_ms_.reserve(workload.units.size());
}

void OrderMetrics::Finished(std::uint32_t stream, std::uint32_t index, double submitted_ms,
                            double finished_ms) {
  latency_ms_.push_back(static_cast<float>(finished_ms - submitted_ms));
  latency_sum_ms_ += finished_ms - submitted_ms;
  const std::uint32_t first = workload_.streams[stream].first_unit;
  const std::uint32_t place = workload_.places.empty() ? index : workload_.places[first + index];
  submitted_ms_[first + place] = submitted_ms;
  streams_[stream].order.OnFinished(UnitIndex{place}, AtMillis(finished_ms), submitted_ms / 1000);
  Release(stream, finished_ms);
}

// Lets go what is complete in order, all at this moment.
void OrderMetrics::Release(std::uint32_t stream, double now_ms) {
  Stream& state = streams_[stream];
  const SimStream& planned = workload_.streams[stream];
  for (; state.next_release < planned.unit_count; ++state.next_release) {
    const double submitted_ms = submitted_ms_[planned.first_unit + state.next_release];
    if (std::isnan(submitted_ms)) return;
    state.order.OnReleased(AtMillis(now_ms), submitted_ms / 1000);
  }
}

void OrderMetrics::AddTo(SimResult& result) {
  const auto units = static_cast<double>(latency_ms_.size());
  if (latency_ms_.empty()) return;
  result.units = latency_ms_.size();
  OrderMeans means;
  for (const Stream& stream : streams_) means.Add(stream.order);
  result.out_of_order = means.out_of_order_rate();
  result.mean_extent = means.mean_extent().value_or(kNotMeasured);
  result.max_extent = static_cast<std::uint64_t>(means.max_extent());
  result.gap_before_ms = means.gap_before_ms().value_or(kNotMeasured);
  result.gap_after_ms = means.gap_after_ms().value_or(kNotMeasured);
  result.jitter_before_ms = means.jitter_before_ms().value_or(kNotMeasured);
  result.jitter_after_ms = means.jitter_after_ms().value_or(kNotMeasured);
  result.mean_latency_ms = latency_sum_ms_ / units;
  result.p50_ms = Quantile(std::span(latency_ms_), 0.50);
  result.p95_ms = Quantile(std::span(latency_ms_), 0.95);
  result.p99_ms = Quantile(std::span(latency_ms_), 0.99);
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

ShareMetrics::ShareMetrics(const Workload& workload, int workers, double window_ms)
    : workload_(workload),
      workers_(workers),
      step_ms_(window_ms / kStepsPerWindow),
      waiting_(workload.classes.size(), 0),
      empty_since_ms_(workload.classes.size(), 0) {}

std::size_t ShareMetrics::StepAt(double ms) const {
  return static_cast<std::size_t>(std::max(0.0, ms) / step_ms_);
}

void ShareMetrics::Grow(std::size_t steps) {
  if (served_.size() >= steps) return;
  served_.resize(steps, std::vector<double>(workload_.classes.size(), 0));
  contested_.resize(steps, 1);
}

void ShareMetrics::MarkEmpty(double from_ms, double to_ms) {
  if (to_ms <= from_ms) return;
  Grow(StepAt(to_ms) + 1);
  for (std::size_t i = StepAt(from_ms); i <= StepAt(to_ms); ++i) contested_[i] = 0;
}

void ShareMetrics::Waiting(int service_class, int change, double now_ms) {
  if (waiting_.size() < 2) return;
  const auto c = static_cast<std::size_t>(service_class);
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
  if (waiting_.size() < 2) {  // nothing is shared
    alone_ms_ += to_ms - from_ms;
    return;
  }
  Grow(StepAt(to_ms) + 1);
  for (std::size_t i = StepAt(from_ms); i <= StepAt(to_ms); ++i) {
    const double begin = std::max(from_ms, static_cast<double>(i) * step_ms_);
    const double end = std::min(to_ms, static_cast<double>(i + 1) * step_ms_);
    served_[i][c] += std::max(0.0, end - begin);
  }
}

std::vector<char> ShareMetrics::Contested() const {
  std::vector<char> contested = contested_;
  for (const double since : empty_since_ms_) {
    if (since < 0) continue;
    for (std::size_t i = StepAt(since); i < contested.size(); ++i) contested[i] = 0;
  }
  // The last step is not a whole one.
  if (!contested.empty()) contested.back() = 0;
  return contested;
}

void ShareMetrics::AddTotals(const std::vector<char>& contested, SimResult& result) const {
  std::vector<double> total(workload_.classes.size(), 0);
  if (total.size() < 2) result.classes.front().busy_ms += alone_ms_;
  for (std::size_t i = 0; i < contested.size(); ++i) {
    for (std::size_t c = 0; c < total.size(); ++c) {
      result.classes[c].busy_ms += served_[i][c];
      if (contested[i] != 0) total[c] += served_[i][c];
    }
  }
  const double sum = std::accumulate(total.begin(), total.end(), 0.0);
  if (sum <= 0) return;  // never had all of them work at the same time
  for (std::size_t c = 0; c < total.size(); ++c) result.classes[c].share = total[c] / sum;
}

void ShareMetrics::AddWindows(const std::vector<char>& contested, SimResult& result) const {
  std::vector<double> window(workload_.classes.size(), 0);
  int steps = 0;  // of the window, all contested
  for (std::size_t i = 0; i < contested.size(); ++i) {
    if (contested[i] == 0) {
      steps = 0;
      window.assign(window.size(), 0);
      continue;
    }
    for (std::size_t c = 0; c < window.size(); ++c) {
      window[c] += served_[i][c];
      if (steps == kStepsPerWindow) window[c] -= served_[i - kStepsPerWindow][c];
    }
    steps = std::min(steps + 1, kStepsPerWindow);
    const double sum = std::accumulate(window.begin(), window.end(), 0.0);
    if (steps < kStepsPerWindow || sum <= 0) continue;
    if (result.share_windows++ == 0) result.share_error = 0;
    for (std::size_t c = 0; c < window.size(); ++c) {
      result.share_error =
          std::max(result.share_error, std::abs(window[c] / sum - result.classes[c].due));
    }
  }
}

void ShareMetrics::AddTo(SimResult& result) const {
  const std::vector<double> due = AssuredShares(workload_.classes, workers_);
  for (std::size_t c = 0; c < due.size(); ++c) result.classes[c].due = due[c];
  const std::vector<char> contested = Contested();
  AddTotals(contested, result);
  AddWindows(contested, result);
}

}  // namespace gopmill::sim
