// SPDX-License-Identifier: Apache-2.0
#include "server/live/live_thumbnails.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "codec/picture_sheet.h"
#include "server/stream/context_use.h"
#include "server/stream/stream_ids.h"

namespace gopmill {
namespace {

// What a small JPEG has in front of its picture: tables.
constexpr std::int64_t kJpegHeaderBits = 8 * 700;
// Stretches of this part of a segment are what peak rates are told of.
constexpr double kShortestStretch = 0.5;

// The picture alone, as if it were the first of a movie.
SheetTask TaskOf(const LiveThumbnails::Order& order) {
  av::Packet packet = av::Ref(**order.key);
  packet->pts = packet->dts = 0;
  packet->duration = 1;
  auto input = std::make_shared<UnitInput>();
  input->spec.end_frame = 1;
  input->spec.end_packet = 1;
  input->spec.source_bytes = packet->size;
  input->packets.push_back(std::move(packet));
  SheetTask task{.plan = order.plan, .runs = {}};
  task.runs.push_back({.input = std::move(input), .entry_frame = 0, .frames = {0}});
  return task;
}

class ThumbnailJob final : public Job {
 public:
  using Done = std::function<void(const JobReport&, Result<std::string>)>;
  ThumbnailJob(const LiveThumbnails::Order& order, std::stop_token stop, Done done)
      : order_(order), stop_(std::move(stop)), done_(std::move(done)) {}

  JobOutcome Run(WorkerContext& worker) noexcept override {
    if (stop_.stop_requested()) return JobOutcome::kCancelled;
    made_ = MakeSheet(TaskOf(order_), ContextUse(worker).cache(), stop_);
    if (made_.ok()) return JobOutcome::kDone;
    return made_.error().code == Code::kCancelled ? JobOutcome::kCancelled : JobOutcome::kFailed;
  }
  void OnReport(const JobReport& report) noexcept override { done_(report, std::move(made_)); }

 private:
  const LiveThumbnails::Order order_;
  const std::stop_token stop_;
  const Done done_;
  Result<std::string> made_{Cancelled()};
};

}  // namespace

ThumbnailSize LiveThumbnailSize(const Target& target) {
  const ThumbnailSize fitted = FitThumbnail(target.width, target.height);
  const auto even = [](int side) { return std::max(2, side / 2 * 2); };
  return fitted.width <= target.width ? fitted
                                      : ThumbnailSize{even(target.width), even(target.height)};
}

std::int64_t LiveThumbnailBps(const ThumbnailSize& size, double segment_seconds) {
  const std::int64_t bits = kJpegHeaderBits + kJpegBitsPerPixel * size.width * size.height;
  return std::llround(static_cast<double>(bits) / (kShortestStretch * segment_seconds)) + 1;
}

std::shared_ptr<const StreamPlan> PlanLiveThumbnails(const LiveTrack& track,
                                                     const ThumbnailSize& size) {
  const MuxTrack& mux = track.track().mux;
  auto source = std::make_shared<SourceInfo>();
  source->video.codec = track.coded().codec;
  source->video.width = track.coded().width;
  source->video.height = track.coded().height;
  source->video.time_base = mux.time_base;
  source->video.fps = mux.frame_rate;
  source->video.mastering_display = mux.mastering_display;
  source->video.content_light = mux.content_light;
  source->video.parameters = mux.parameters;
  auto plan = std::make_shared<StreamPlan>();
  plan->grid = OutputGrid(mux.frame_rate, mux.frame_rate, mux.time_base, 0);
  plan->target.width = size.width;
  plan->target.height = size.height;
  plan->target.fps = mux.frame_rate;
  plan->target.fit = Fit::kStretch;  // the size has been fitted
  plan->source = std::move(source);
  return plan;
}

StreamId LiveThumbnails::NewStream() {
  const MutexLock lock(mutex_);
  return {kThumbnailIds + ++streams_};
}

Status LiveThumbnails::Make(const Order& order, Done done) {
  const MutexLock lock(mutex_);
  if (stopped_) return ShuttingDown();
  const JobSpec spec{.unit = {order.stream, UnitIndex{next_unit_++}},
                     .stream_number = order.stream.value,
                     .cost_bytes = static_cast<std::size_t>((*order.key)->size) + 1,
                     .frames = 1,
                     .service_class = order.service_class,
                     .deadline = scheduler_.DeadlineOf(order.service_class)};
  auto job = std::make_unique<ThumbnailJob>(
      order, stop_.get_token(),
      [this, spec, done = std::move(done)](const JobReport& report, Result<std::string> made) {
        if (observer_) observer_->OnEnded({.spec = spec, .report = report, .stats = {}});
        OnMade(done, std::move(made));
      });
  Status status = scheduler_.Submit(spec, std::move(job));
  if (status.ok()) ++jobs_out_;  // its end waits for the lock
  return status;
}

void LiveThumbnails::OnMade(const Done& done, Result<std::string> made) {
  const bool good = made.ok();
  done(std::move(made));
  // Told under the lock: without jobs this object may be destroyed.
  const MutexLock lock(mutex_);
  made_ += good ? 1 : 0;
  --jobs_out_;
  changed_.NotifyAll();
}

void LiveThumbnails::Stop() {
  stop_.request_stop();
  const MutexLock lock(mutex_);
  stopped_ = true;
  while (jobs_out_ > 0) changed_.Wait(mutex_);
}

std::uint64_t LiveThumbnails::made() const {
  const MutexLock lock(mutex_);
  return made_;
}

}  // namespace gopmill
