// SPDX-License-Identifier: Apache-2.0
//
// One segment, or sheet of thumbnails, as a job of the scheduler: its packets in, its bytes out.
// The second place, beside unit_job, where scheduler and codec meet.
//
// Thread-safety: thread-compatible; run by one worker at a time.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "scheduler/job.h"
#include "server/session/segment_work.h"

namespace gopmill {

class SegmentJob : public Job {
 public:
  using Done = std::function<void(Result<std::string>)>;
  // `done` is called exactly once, on a worker's or the dispatcher's thread; it must not block.
  SegmentJob(SegmentWork work, std::stop_token stop, Done done)
      : work_(std::move(work)), stop_(std::move(stop)), done_(std::move(done)) {}

  JobOutcome Run(WorkerContext& worker) noexcept override;
  void OnReport(const JobReport& report) noexcept override;

 private:
  Result<std::string> Make(WorkerContext& worker);
  Result<std::string> MakeVideo(WorkerContext& worker);
  Result<std::string> MakeAudio();
  Result<std::string> MakeThumbnails(WorkerContext& worker);

  SegmentWork work_;
  const std::stop_token stop_;
  const Done done_;
  Result<std::string> result_{Error{.code = Code::kCancelled, .message = "Cancelled."}};
};

}  // namespace gopmill
