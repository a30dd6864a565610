// SPDX-License-Identifier: Apache-2.0
#include "server/segments/segment_job.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "codec/audio_segment.h"
#include "codec/picture_sheet.h"
#include "codec/unit_transcoder.h"
#include "media/segment_muxer.h"
#include "server/segments/segment_thumbnails.h"
#include "server/stream/context_use.h"

namespace gopmill {
namespace {

// A segment is sent whole, so its packets wait for the last one.
class Collector : public UnitOutput {
 public:
  void OnEncoder(std::shared_ptr<const AVCodecParameters> made) override {
    parameters = std::move(made);
  }
  void OnPacket(av::Packet packet) override { packets.push_back(std::move(packet)); }
  void OnRunReady(std::unique_ptr<RunState> state) override { run = std::move(state->selector); }

  std::shared_ptr<const AVCodecParameters> parameters;
  std::vector<av::Packet> packets;
  std::unique_ptr<FrameSelector> run;
};

Result<std::string> Muxed(const SegmentWork& work, Collector& made) {
  const VideoRendition& rendition = RenditionOf(*work.movie, work.name);
  MuxTrack track = rendition.mux;
  // Transport streams carry the parameter sets in the packets: the muxer is told so.
  if (work.movie->container == Container::kTs) track.parameters = made.parameters;
  return MakeSegment(work.movie->container, track, rendition.lead, work.name.number,
                     std::move(made.packets));
}

}  // namespace

// With `run`, unless that is null; it is then that of the segment behind, if there is one.
Result<MadeSegments> SegmentJob::MakePicturesWith(std::unique_ptr<FrameSelector>& run,
                                                  ContextCache& cache) {
  MadeSegments made{.bytes = {}, .stats = {}, .went_on = run != nullptr};
  std::vector<Collector> collectors(works_.size());
  std::vector<UnitRendition> renditions(works_.size());
  for (std::size_t i = 0; i < works_.size(); ++i) {
    const VideoRendition& track = RenditionOf(*works_[i].movie, works_[i].name);
    renditions[i].task = {.plan = PlanCodedAs(track.plan, works_[i].unit->coded),
                          .encoder = track.encoder,
                          .input = works_[i].unit,
                          .run = {},
                          .decode_aside = spreads()};
    renditions[i].stop = stop_;
    renditions[i].output = &collectors[i];
  }
  if (run) renditions[0].task.run = {.selector = std::move(run), .fed = *works_[0].fed_before};
  const auto stats = TranscodeTogether(renditions, cache);
  if (!stats.ok()) return stats.error();
  // All have one token, but the last of them to look at it may be the first to see it.
  if (std::ranges::any_of(*stats, &UnitStats::cancelled)) return Cancelled();
  made.stats = stats->front();
  for (std::size_t i = 0; i < works_.size(); ++i) {
    GOPMILL_ASSIGN_OR_RETURN(made.bytes.emplace_back(), Muxed(works_[i], collectors[i]));
  }
  run = std::move(collectors[0].run);
  return made;
}

// From the key picture, where going on came to nothing: `first` is what is known of its cost.
Result<MadeSegments> SegmentJob::MakeAnew(const UnitStats& first, ContextCache& cache) {
  std::unique_ptr<FrameSelector> none;
  GOPMILL_ASSIGN_OR_RETURN(MadeSegments made, MakePicturesWith(none, cache));
  made.stats.decode += first.decode;
  made.stats.filter += first.filter;
  made.stats.encode += first.encode;
  made.stats.aside_cpu += first.aside_cpu;
  made.stats.selection.decoded += first.selection.decoded;
  made.stats.decoded_again += first.selection.decoded;
  return made;
}

// How a decoder patches what is damaged may depend on memory that it has from pictures before: then
// it begins anew for the segment, and does not go on to the next.
Result<MadeSegments> SegmentJob::MakePictures(WorkerContext& worker) {
  const ContextUse use(worker);
  const SegmentWork& work = works_.front();
  std::unique_ptr<FrameSelector> run;
  if (work.fed_before) run = runs_.Take(KeyOf(*work.movie, work.name));
  const bool goes_on = run != nullptr;
  Result<MadeSegments> made = MakePicturesWith(run, use.cache());
  if (!made.ok()) {
    if (!goes_on || made.error().code == Code::kCancelled) return made;
    spdlog::warn("segment {} of the movie v={} is made anew, as it could not go on: {}",
                 work.name.number, work.movie->version, made.error().message);
    return MakeAnew(UnitStats{}, use.cache());
  }
  if (!made->stats.flawless_run) {
    if (!goes_on) return made;
    return MakeAnew(made->stats, use.cache());
  }
  // One that has come meanwhile is for nobody any more.
  if (work.fed_before && !goes_on) runs_.Take(KeyOf(*work.movie, work.name));
  if (run) {
    PartName behind = work.name;
    ++behind.number;
    runs_.Put(KeyOf(*work.movie, behind), std::move(run));
  }
  return made;
}

Result<std::string> SegmentJob::MakeAudio() {
  const SegmentWork& work = works_.front();
  const AudioRendition& rendition = *work.movie->audio;
  AudioSegmentTask task{.index = work.movie->index,
                        .grid = rendition.grid,
                        .target = rendition.target,
                        .start = rendition.start,
                        .number = work.name.number,
                        .packets = {}};
  for (const av::Packet& packet : work.packets) task.packets.push_back(av::Ref(*packet));
  GOPMILL_ASSIGN_OR_RETURN(auto packets, EncodeAudioSegment(task, stop_));
  return MakeSegment(work.movie->container, rendition.mux, rendition.lead, work.name.number,
                     std::move(packets));
}

Result<std::string> SegmentJob::MakeThumbnails(WorkerContext& worker) {
  const SegmentWork& work = works_.front();
  SheetTask task{.plan = work.movie->thumbnails.plan,
                 .runs = work.runs,
                 .columns = kThumbnailColumns,
                 .rows = kThumbnailRows};
  if (work.name.track == PartTrack::kStills) {
    task.plan = StillsOf(*work.movie, work.name).plan;
    task.columns = task.rows = 1;
  }
  return MakeSheet(task, ContextUse(worker).cache(), stop_);
}

Result<MadeSegments> SegmentJob::Make(WorkerContext& worker) {
  if (stop_.stop_requested()) return Cancelled();
  const PartTrack track = works_.front().name.track;
  const bool pictures = track == PartTrack::kVideo || track == PartTrack::kIFrames;
  if (pictures) return MakePictures(worker);
  auto made = track == PartTrack::kAudio ? MakeAudio() : MakeThumbnails(worker);
  if (!made.ok()) return made.error();
  MadeSegments one;
  one.bytes.push_back(std::move(made).value());
  return one;
}

bool SegmentJob::spreads() const {
  return awaited_ && works_.front().name.track == PartTrack::kVideo;
}

JobOutcome SegmentJob::Run(WorkerContext& worker) noexcept {
  result_ = Make(worker);
  if (result_.ok()) return JobOutcome::kDone;
  return result_.error().code == Code::kCancelled ? JobOutcome::kCancelled : JobOutcome::kFailed;
}

void SegmentJob::OnReport(const JobReport& report) noexcept { done_(report, std::move(result_)); }

}  // namespace gopmill
