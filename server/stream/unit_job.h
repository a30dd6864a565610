// SPDX-License-Identifier: Apache-2.0
//
// A meeting point of the scheduler, which knows jobs and costs, and the codec, which knows packets,
// as are SegmentJob and ThumbnailJob: one unit of one stream as a job, or of several streams that
// are decoded together.
// Everything it produces is posted to the streams' mailboxes; it touches no session.
//
// Thread-safety: thread-compatible; run by one worker at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "codec/context_cache.h"
#include "codec/unit_transcoder.h"
#include "scheduler/job.h"
#include "server/stream/engine.h"
#include "server/stream/mailbox.h"

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

// A unit of one stream, and who is to be told of it.
struct UnitOrder {
  StreamId stream;
  UnitTask task;
  std::shared_ptr<Mailbox> mailbox;
  std::stop_token stop;
};

using UnitOrders = std::vector<UnitOrder>;
UnitOrders OneOrder(UnitOrder order);

class UnitJob : public Job {
 public:
  // Several orders must show the same pictures (ShowTheSame). If one fails they are made again each
  // on its own, and one that is stopped leaves the others alone: each mailbox gets a report of its
  // own, with its share of the CPU time. Where pictures that are shared with other streams went
  // while it was made, it is made again at once without them. `on_report` may be empty; it
  // also hears how long the job has waited for other AV1 encoders (codec/av1_gate.h).
  using ReportHandler = std::function<void(const JobReport&, Duration waited)>;
  explicit UnitJob(UnitOrders orders, ReportHandler on_report = {});

  JobOutcome Run(WorkerContext& worker) noexcept override;
  void OnReport(const JobReport& report) noexcept override;

 private:
  struct Made {  // of an order
    UnitStats stats;
    std::optional<Error> error;
    bool pictures_lost = false;  // UnitOutput::OnPicturesLost
    [[nodiscard]] JobOutcome outcome() const;
  };
  void Transcode(std::span<UnitOrder> orders, std::span<Made> made, ContextCache& cache);
  void TranscodeAlone(std::size_t number, ContextCache& cache);
  [[nodiscard]] JobOutcome Outcome() const;

  UnitOrders orders_;
  const ReportHandler on_report_;
  std::vector<Made> made_;
  Duration waited_{};
};

}  // namespace gopmill
