// SPDX-License-Identifier: Apache-2.0
//
// What the bench computes of one run, and the list of all measures with their meaning: the JSON,
// the tables and the HTML report are made from that list.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "server/bench/idle_waiting.h"
#include "server/bench/run_record.h"

namespace gopmill::bench {

// Stands for what a run cannot tell: a replay has no media, and where no unit has a deadline none
// is late. Neither 0 nor any other value: shown as "-", null in JSON, in no median.
inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();
inline bool IsMeasured(double value) { return !std::isnan(value); }

struct CoreMeasures {
  int pu_os_index = -1;
  std::int64_t units = 0;
  double busy_s = 0;       // wall clock inside units
  double cpu_s = 0;        // CPU time in them, with threads of encoders and decoding aside
  double utilisation = 0;  // busy, of the makespan
};

// The life of a GOP, in order. `other` is the rest of the time on the worker: opening contexts,
// copying, and other threads on its CPU.
enum class Stage {
  kRead,
  kWindowWait,
  kGlobalWait,
  kSchedule,
  kRunWait,
  kDecode,
  kFilter,
  kEncode,
  kOther,
  kReorderWait,
  kMuxSend,
};
inline constexpr std::size_t kStages = 11;
std::string_view StageName(Stage stage);

struct RunMeasures {
  std::int64_t gops = 0;
  double wall_s = 0, gops_per_s = 0, cpu_s = 0, system_s = 0, core_ms_per_gop = 0;
  double gops_per_cpu_s = 0;
  double utilisation = 0, imbalance = 0;
  double decision_us = 0, overhead = 0;
  double disruption = 0, context_hits = 0, cold = 0;
  double reordered = 0, extent_mean = 0, extent_max = 0;
  double gap_before_ms = 0, gap_after_ms = 0, jitter_before_ms = 0, jitter_after_ms = 0;
  double first_byte_ms = kNotMeasured, first_byte_max_ms = kNotMeasured;
  double deadline_misses = 0;
  double latency_p50_ms = 0, latency_p95_ms = 0, latency_p99_ms = 0;
  double out_p50_ms = 0, out_p99_ms = 0;  // the same until released in order
  double idle_waiting_ms = 0, idle_waiting_longest_ms = 0, idle_waiting_events = 0;
  double idle_waiting_too_long_ms = 0, wake_up_us = 0, wake_up_longest_ms = 0;
  double others_ms = kNotMeasured;
  double frames = 0, video_bytes = 0, minor_faults = 0;
  double peak_bytes = kNotMeasured, cache_misses_per_gop = kNotMeasured;
  double share_error = kNotMeasured, backlogged_s = kNotMeasured;
  double share_error_10s = kNotMeasured, share_windows = kNotMeasured;
  double share_one_unit = kNotMeasured;
  std::vector<double> class_shares;  // by class, empty without classes
  std::vector<CoreMeasures> cores;
  std::array<double, kStages> stages_ms{};  // means per GOP
};

RunMeasures Measure(const RunRecord& record);

// One number of a run, which may be kNotMeasured.
struct MeasureDoc {
  std::string_view name;     // in JSON
  std::string_view heading;  // of a column
  std::string_view unit;     // "" for plain numbers
  std::string_view meaning;  // one line
  int decimals = 0;
  double scale = 1;  // from the value in JSON to the one shown with `unit`
  double RunMeasures::*value = nullptr;
};
std::span<const MeasureDoc> MeasureDocs();

}  // namespace gopmill::bench
