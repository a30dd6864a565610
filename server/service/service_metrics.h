// SPDX-License-Identifier: Apache-2.0
//
// The engine's numbers in Prometheus' text form, by prometheus-cpp. Names are listed in
// docs/OPERATIONS.md.
//
// Thread-safety: safe (pure functions over snapshots).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "codec/context_cache.h"
#include "scheduler/scheduler.h"
#include "server/live/fanout_table.h"
#include "server/live/live_hub.h"
#include "server/live/live_segments.h"
#include "server/segments/index_ahead.h"
#include "server/segments/segment_service.h"
#include "server/service/process_stats.h"
#include "server/stream/stream_admission.h"
#include "server/stream/stream_stats.h"

namespace gopmill {

// Sums over streams.
struct StreamTotals {
  std::uint64_t done = 0, failed = 0, cancelled = 0;
  std::uint64_t refused = 0;  // for want of room, or for what was promised to others
  std::uint64_t units = 0, reordered_units = 0, away_from_home_units = 0;
  std::uint64_t frames = 0, bytes = 0, source_bytes = 0;
  std::uint64_t retries = 0, decoded_elsewhere = 0, rate_corrections = 0;
  std::uint64_t concealed = 0, patched = 0, damaged = 0;
  std::array<std::uint64_t, kEfforts> units_by_effort{};
  std::uint64_t seams = 0, seam_violations = 0;
  StageTimes stages;

  void Add(const StreamSnapshot& snapshot);
};

struct ServiceMetrics {
  int streams_running = 0;
  StreamTotals totals;
  double worst_jitter_ms = 0;  // of the running streams, behind the reorderer
  SchedulerStats scheduler;
  CacheStats cache;
  SegmentStats segments;
  DiskCacheStats movies, sources;
  IndexAheadStats index_ahead;
  std::int64_t spooled_bytes = 0;
  LiveTotals live;
  std::vector<AdmissionStats> admission;
  LiveSegmentStats live_segments;
  FanoutStats fanouts;
  ProcessStats process;
};

std::string MetricsText(const ServiceMetrics& metrics);

}  // namespace gopmill
