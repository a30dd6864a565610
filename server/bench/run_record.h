// SPDX-License-Identifier: Apache-2.0
//
// All that is written down of one run under one policy, before anything is computed from it.
//
// Thread-safety: compatible (plain values).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "scheduler/counters.h"
#include "scheduler/service_class.h"
#include "server/bench/process_usage.h"
#include "server/stream/unit_observer.h"

namespace gopmill::bench {

// What a run gives that was asked to stop.
inline Error Interrupted() { return {.code = Code::kCancelled, .message = "Interrupted."}; }

struct UnitSample {
  UnitLife life;
  TimePoint released;  // left the reorderer
};

struct StreamSample {
  StreamId id;
  std::string name;        // "ref-talk.mpg to 352x288"
  std::uint64_t hash = 0;  // 64-bit FNV-1a of the container bytes
  std::int64_t bytes = 0, frames = 0, video_bytes = 0;
  std::optional<Duration> first_byte;  // since the stream began
  Duration mux_send{};
};

// Codec contexts that units found on their worker, and that had to be opened for them.
struct ContextCounts {
  std::int64_t warm = 0, opened = 0;
};

struct WorkerSample {
  int pu_os_index = -1;
  bool pinned = false;
};

struct RunRecord {
  std::string policy;
  bool media = true;     // false: a replay, which has no pictures, bytes and stages of them
  int repeat = 0;        // from 0
  TimePoint start, end;  // first stream begun, last one delivered
  std::vector<UnitSample> units;  // by stream, then by index
  std::vector<StreamSample> streams;
  std::vector<WorkerSample> workers;
  std::vector<ServiceClass> classes;  // empty: no classes were asked for
  ProcessUsage usage;
  std::optional<std::int64_t> peak_bytes;  // of this run; empty where the kernel cannot tell
  ContextCounts contexts;
  SchedulerCounters counters;
  // CPU seconds that other programs took meanwhile; empty where the kernel cannot tell.
  std::optional<double> others_s;
  std::optional<CacheCounts> cache;  // empty where the machine does not count
};

}  // namespace gopmill::bench
