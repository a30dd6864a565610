// SPDX-License-Identifier: Apache-2.0
//
// One segment, or sheet of thumbnails, as a job of the scheduler: its packets in, its bytes out. Or
// the same segment of several renditions of pictures, by one decode. A place where scheduler and
// codec meet, as unit_job.h is.
//
// Thread-safety: thread-compatible; run by one worker at a time.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "codec/unit_transcoder.h"
#include "scheduler/job.h"
#include "server/segments/run_shelf.h"
#include "server/segments/segment_work.h"

namespace gopmill {

struct MadeSegments {
  std::vector<std::string> bytes;
  UnitStats stats;       // of the first rendition; zero for sound and thumbnails
  bool went_on = false;  // with the run of the segment before
};

class SegmentJob : public Job {
 public:
  using Done = std::function<void(const JobReport&, Result<MadeSegments>)>;
  // `works`: one, or some of ReadLadderWork; the bytes come in their order. `done` is called
  // exactly once, on a worker's or the dispatcher's thread; it must not block.
  // `runs`, borrowed: where the run of the segment before may be, and its own goes. `awaited`:
  // somebody waits for this segment, or there is nothing else to do, so that encoders with threads
  // use all workers' PUs.
  SegmentJob(std::vector<SegmentWork> works, RunShelf& runs, bool awaited, std::stop_token stop,
             Done done)
      : works_(std::move(works)),
        runs_(runs),
        awaited_(awaited),
        stop_(std::move(stop)),
        done_(std::move(done)) {}

  JobOutcome Run(WorkerContext& worker) noexcept override;
  void OnReport(const JobReport& report) noexcept override;
  [[nodiscard]] bool spreads() const override;

 private:
  Result<MadeSegments> Make(WorkerContext& worker);
  Result<MadeSegments> MakePictures(WorkerContext& worker);
  Result<MadeSegments> MakeAnew(const UnitStats& first, ContextCache& cache);
  Result<MadeSegments> MakePicturesWith(std::unique_ptr<FrameSelector>& run, ContextCache& cache);
  Result<std::string> MakeAudio();
  Result<std::string> MakeThumbnails(WorkerContext& worker);

  std::vector<SegmentWork> works_;
  RunShelf& runs_;
  const bool awaited_;
  const std::stop_token stop_;
  const Done done_;
  Result<MadeSegments> result_{Cancelled()};
};

}  // namespace gopmill
