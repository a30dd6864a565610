// SPDX-License-Identifier: Apache-2.0
//
// What a run of the simulator is measured by, and how it is added up while the run goes on.
//
//   order, gaps, jitter  of base/order_stats.h, as in gopmill bench, before the reorderer (on the
//                        order of completion) and behind it; for the jitter a unit was sent when
//                        it was submitted
//   idle while waiting   integral over time of min(idle workers, submitted units nobody has begun)
//   percentiles          linear between the two values next to it, as in gopmill bench
//
// Thread-safety: compatible.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/order_stats.h"
#include "scheduler/sim/workload.h"

namespace gopmill::sim {

// Of a figure that a run says nothing of.
inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

struct ClassResult {
  std::string name;
  double weight = 1;
  std::uint64_t units = 0;
  double busy_ms = 0;
  double share = kNotMeasured;  // of the core time while all classes were backlogged
  double due = 0;               // what it should be then: by weight, within guarantee and maximum
};

struct SimResult {
  std::string policy;
  int workers = 0;
  std::uint64_t units = 0;
  double makespan_ms = 0;
  double gops_per_second = 0;
  double useful = 0;       // hot milliseconds done per millisecond of worker
  double utilisation = 0;  // mean over workers
  double imbalance = 0;    // (max - min) / max of busy time
  std::vector<double> worker_utilisation;

  double disruption = 0;  // share of the units that did not run at the home of their stream
  double hit_rate = 0;    // share of the units that found their context open
  double out_of_order = 0;
  double mean_extent = kNotMeasured;  // of the units out of order
  std::uint64_t max_extent = 0;
  double gap_before_ms = kNotMeasured, gap_after_ms = kNotMeasured;        // standard deviation
  double jitter_before_ms = kNotMeasured, jitter_after_ms = kNotMeasured;  // RFC 3550
  double mean_latency_ms = 0, p50_ms = 0, p95_ms = 0, p99_ms = 0, max_latency_ms = 0;
  double mean_service_ms = 0;
  double reload = 0;              // share of the cache read again, per unit
  double mean_wait_ms = 0;        // submitted to begun
  double idle_waiting_share = 0;  // of all worker time
  double idle_waiting_longest_ms = 0;
  std::uint64_t deadlines = 0;            // units that have one
  double deadline_misses = kNotMeasured;  // of those, that finished after theirs

  std::vector<ClassResult> classes;
  double share_windows = 0;  // windows in which all classes were backlogged from end to end
  double share_error = kNotMeasured;  // largest |share - due share| in any of them

  // Real time, so not the same in two runs.
  double decision_us = 0;  // inside the policy, per unit
  double run_seconds = 0;
};

// Order, jitter and latency of the units as they finish.
class OrderMetrics {
 public:
  explicit OrderMetrics(const Workload& workload);
  // The unit that the stream submitted behind `index` others.
  void Finished(std::uint32_t stream, std::uint32_t index, double submitted_ms, double finished_ms);
  void AddTo(SimResult& result);

 private:
  struct Stream {
    OrderStats order;
    std::uint32_t next_release = 0;
  };
  void Release(std::uint32_t stream, double now_ms);

  const Workload& workload_;
  std::vector<Stream> streams_;
  std::vector<double> submitted_ms_;  // by stream and place; kNotMeasured until it is finished
  std::vector<float> latency_ms_;
  double latency_sum_ms_ = 0;
};

// Idle workers while units wait.
class IdleMetrics {
 public:
  explicit IdleMetrics(int workers) : idle_(workers) {}
  void Waiting(int change, double now_ms) { Advance(now_ms), waiting_ += change; }
  void Idle(int change, double now_ms) { Advance(now_ms), idle_ += change; }
  [[nodiscard]] double worker_ms() const { return worker_ms_; }
  [[nodiscard]] double longest_ms() const { return longest_ms_; }

 private:
  void Advance(double now_ms);
  std::int64_t waiting_ = 0;
  std::int64_t idle_ = 0;
  double last_ms_ = 0;
  double since_ms_ = -1;
  double worker_ms_ = 0;
  double longest_ms_ = 0;
};

// Core time of classes against what is due to them, in windows that begin every fiftieth of their
// length: every 0.2 s for those of 10 s, as in gopmill bench.
class ShareMetrics {
 public:
  static constexpr int kStepsPerWindow = 50;
  ShareMetrics(const Workload& workload, int workers, double window_ms);
  void Waiting(int service_class, int change, double now_ms);
  void Ran(int service_class, double from_ms, double to_ms);
  void AddTo(SimResult& result) const;

 private:
  [[nodiscard]] std::size_t StepAt(double ms) const;
  void Grow(std::size_t steps);
  void MarkEmpty(double from_ms, double to_ms);
  [[nodiscard]] std::vector<char> Contested() const;
  void AddTotals(const std::vector<char>& contested, SimResult& result) const;
  void AddWindows(const std::vector<char>& contested, SimResult& result) const;

  const Workload& workload_;
  const int workers_;
  const double step_ms_;
  std::vector<std::int64_t> waiting_;
  std::vector<double> empty_since_ms_;       // by class; -1 while it is backlogged
  double alone_ms_ = 0;                      // of an only class, which needs no steps
  std::vector<std::vector<double>> served_;  // by step, by class
  std::vector<char> contested_;              // by step: all classes were backlogged throughout
};

}  // namespace gopmill::sim
