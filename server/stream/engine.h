// SPDX-License-Identifier: Apache-2.0
//
// The parts that all streams of a process share: the machine as discovered, the scheduler with its
// pinned workers, and each worker's codec context cache.
//
// Thread-safety: safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "codec/context_cache.h"
#include "scheduler/scheduler.h"

namespace gopmill {

// Cache counters of one worker, published for readers on other threads. Relaxed atomics: each is a
// measure on its own, nothing is ordered by them.
struct PublishedCacheStats {
  std::atomic<std::int64_t> decoder_hits{0}, decoder_misses{0};
  std::atomic<std::int64_t> filter_hits{0}, filter_misses{0};
  std::atomic<std::int64_t> encoder_hits{0}, encoder_misses{0};
  std::atomic<std::size_t> bytes{0};

  void Publish(const CacheStats& stats);
  [[nodiscard]] CacheStats Read() const;
};

struct EngineOptions {
  SchedulerOptions scheduler;
  std::size_t context_cache_bytes = std::size_t{64} << 20U;  // per worker
};

class Engine {
 public:
  // Whether Create would take these options on this machine. Starts nothing.
  static Status Check(const EngineOptions& options);
  // Discovers the machine and starts the workers. Also tunes the allocator (see
  // TuneAllocator): once per process.
  static Result<std::unique_ptr<Engine>> Create(const EngineOptions& options);

  [[nodiscard]] Scheduler& scheduler() { return *scheduler_; }
  [[nodiscard]] const Scheduler& scheduler() const { return *scheduler_; }
  [[nodiscard]] const std::string& policy() const { return options_.policy; }
  // The home worker of a stream, -1 when it cannot be told.
  [[nodiscard]] int HomeWorker(StreamId stream) const;
  // Sum over the workers.
  [[nodiscard]] CacheStats cache_stats() const;

 private:
  explicit Engine(SchedulerOptions options) : options_(std::move(options)) {}
  const SchedulerOptions options_;
  std::vector<std::shared_ptr<PublishedCacheStats>> caches_;  // one per worker
  std::unique_ptr<Scheduler> scheduler_;
};

// Keeps freed frame memory in the process instead of giving it back to the kernel after each unit:
// page faults were a fifth of the time of small units.
void TuneAllocator();
// Whole pages that are free, but that the allocator keeps, go back to the system, if it keeps more
// than a little. 22 ms for 190 MiB in small pieces, 1.5 ms when they have gone back before. Any
// thread; others may wait where they allocate.
void GiveBackFreeMemory();

}  // namespace gopmill
