// SPDX-License-Identifier: Apache-2.0
//
// What one job finds warm in its worker's cache: taken down at its begin, told to the scheduler at
// its end (WorkerContext::cold and opening).
//
// Thread-safety: thread-affine to the worker, within one Run.
#pragma once

#include "codec/context_cache.h"
#include "scheduler/job.h"

namespace gopmill {

struct WorkerCodecs;

class ContextUse {
 public:
  // The worker must have WorkerCodecs. Both must outlive it.
  explicit ContextUse(WorkerContext& worker);
  ~ContextUse();  // tells the scheduler, and publishes the cache's counters
  ContextUse(const ContextUse&) = delete;
  ContextUse& operator=(const ContextUse&) = delete;

  [[nodiscard]] ContextCache& cache() const;

 private:
  WorkerContext& worker_;
  WorkerCodecs& codecs_;
  const CacheStats before_;
};

}  // namespace gopmill
