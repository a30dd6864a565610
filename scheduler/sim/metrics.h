// SPDX-License-Identifier: Apache-2.0
//
// What a run of the simulator is measured by, and how it is added up while the run goes on.
//
//   out-of-order rate   share of the units of a stream that finish after one with a higher index
//                       (RFC 4737, type-P-reordered, on the order of completion); extent: how many
//                       places behind
//   jitter              standard deviation of the gaps between departures of a stream, mean over
//                       streams; before the reorderer (completion) and behind it (in order)
//   RFC 3550 jitter     the interarrival jitter of section 6.4.1 at the end of a stream: sent =
//                       submitted, received = departed behind the reorderer; mean over streams
//   idle while waiting  integral over time of min(idle workers, submitted units nobody has begun)
//
// Thread-safety: compatible.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "scheduler/sim/workload.h"

namespace gopmill::sim {

struct ClassResult {
  std::string name;
  double weight = 1;
  std::uint64_t units = 0;
  double busy_ms = 0;
  double share = 0;  // of the core time of the windows in which all classes were backlogged
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
  double mean_extent = 0;  // of the units out of order
  std::uint64_t max_extent = 0;
  double jitter_before_ms = 0;
  double jitter_after_ms = 0;
  double rfc3550_jitter_ms = 0;
  double mean_latency_ms = 0, p50_ms = 0, p95_ms = 0, p99_ms = 0, max_latency_ms = 0;
  double mean_service_ms = 0;
  double reload = 0;              // share of the cache read again, per unit
  double mean_wait_ms = 0;        // submitted to begun
  double idle_waiting_share = 0;  // of all worker time
  double idle_waiting_longest_ms = 0;
  double missed_deadlines = 0;  // share of the units that have one
  std::uint64_t steals = 0;     // units taken back from a run queue

  std::vector<ClassResult> classes;
  std::uint64_t share_windows = 0;  // windows in which all classes were backlogged
  double share_error = 0;           // largest |share - weight's share| in any of them

  // Real time, so not the same in two runs.
  double decision_us = 0;  // inside the policy, per unit
  double run_seconds = 0;
};

// Gaps of departures of one stream, by Welford's method.
class GapSpread {
 public:
  void Departed(double at_ms);
  [[nodiscard]] double Deviation() const;
  [[nodiscard]] bool empty() const { return gaps_ == 0; }

 private:
  double last_ms_ = -1;
  std::uint64_t gaps_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

// Order, jitter and latency of the units as they finish.
class OrderMetrics {
 public:
  explicit OrderMetrics(const Workload& workload);
  // The unit `index` of the stream.
  void Finished(std::uint32_t stream, std::uint32_t index, double submitted_ms, double finished_ms);
  void AddTo(SimResult& result);

 private:
  struct Stream {
    GapSpread before, after;
    std::uint32_t next_release = 0;
    std::int64_t highest_finished = -1;
    double last_transit_ms = 0;
    double rfc3550_ms = 0;
  };
  void Release(std::uint32_t stream, double now_ms);

  const Workload& workload_;
  std::vector<Stream> streams_;
  std::vector<double> submitted_ms_;  // by unit; -1 until it has finished
  std::vector<float> latency_ms_;
  double latency_sum_ms_ = 0;
  std::uint64_t out_of_order_ = 0;
  std::uint64_t extent_sum_ = 0;
  std::uint64_t max_extent_ = 0;
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

// Core time of classes against their weights, window by window.
class ShareMetrics {
 public:
  ShareMetrics(const Workload& workload, double window_ms);
  void Waiting(int service_class, int change, double now_ms);
  void Ran(int service_class, double from_ms, double to_ms);
  void AddTo(SimResult& result) const;

 private:
  [[nodiscard]] std::size_t WindowAt(double ms) const;
  void Grow(std::size_t windows);
  void MarkEmpty(double from_ms, double to_ms);

  const Workload& workload_;
  const double window_ms_;
  std::vector<std::int64_t> waiting_;
  std::vector<double> empty_since_ms_;       // by class; -1 while it is backlogged
  std::vector<std::vector<double>> served_;  // by window, by class
  std::vector<char> contested_;              // by window: all classes were backlogged throughout
  double end_ms_ = 0;
};

// The value below which the share `p` of the values lies. Reorders them.
double Percentile(std::span<float> values, double p);

}  // namespace gopmill::sim
