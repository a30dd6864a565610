// SPDX-License-Identifier: Apache-2.0
//
// The one meeting point of the scheduler, which knows jobs and costs, and the codec, which knows
// packets: one unit of one stream as a job. Everything it produces is posted to the stream's
// mailbox; it touches no session.
//
// Thread-safety: thread-compatible; run by one worker at a time.
#pragma once

#include <memory>
#include <stop_token>

#include "codec/context_cache.h"
#include "codec/unit_transcoder.h"
#include "scheduler/job.h"
#include "server/session/engine.h"
#include "server/session/mailbox.h"

namespace gopmill {

// What each worker keeps for itself.
struct WorkerCodecs : WorkerLocal {
  WorkerCodecs(std::size_t cache_bytes, std::shared_ptr<PublishedCacheStats> published_stats)
      : cache(cache_bytes), published(std::move(published_stats)) {}
  // Opens the next unit's encoder while there is nothing else to do.
  bool OnIdle() noexcept override { return cache.PrepareOne(); }

  ContextCache cache;
  const std::shared_ptr<PublishedCacheStats> published;
};

class UnitJob : public Job {
 public:
  UnitJob(UnitTask task, std::shared_ptr<Mailbox> mailbox, std::stop_token stop);

  JobOutcome Run(WorkerContext& worker) noexcept override;
  void OnReport(const JobReport& report) noexcept override;

 private:
  UnitTask task_;
  const std::shared_ptr<Mailbox> mailbox_;
  const std::stop_token stop_;
  UnitStats stats_;
  std::optional<Error> error_;
};

}  // namespace gopmill
