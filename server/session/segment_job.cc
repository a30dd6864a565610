// SPDX-License-Identifier: Apache-2.0
#include "server/session/segment_job.h"

#include <utility>

#include "codec/audio_segment.h"
#include "codec/picture_sheet.h"
#include "codec/unit_transcoder.h"
#include "media/segment_muxer.h"
#include "server/session/segment_thumbnails.h"
#include "server/session/unit_job.h"

namespace gopmill {
namespace {

// A segment is sent whole, so its packets wait for the last one.
class Collector : public UnitOutput {
 public:
  void OnEncoder(std::shared_ptr<const AVCodecParameters> made) override {
    parameters = std::move(made);
  }
  void OnPacket(av::Packet packet) override { packets.push_back(std::move(packet)); }
  void OnRunReady(std::unique_ptr<RunState> /*state*/) override {}

  std::shared_ptr<const AVCodecParameters> parameters;
  std::vector<av::Packet> packets;
};

}  // namespace

Result<std::string> SegmentJob::MakeVideo(WorkerContext& worker) {
  const VideoRendition& rendition =
      work_.name.track == PartTrack::kIFrames
          ? *work_.movie->iframes
          : work_.movie->video[static_cast<std::size_t>(work_.name.rendition)];
  auto& codecs = *static_cast<WorkerCodecs*>(worker.local);
  UnitTask task{
      .plan = rendition.plan, .encoder = rendition.encoder, .input = work_.unit, .run = {}};
  Collector collector;
  const auto stats = TranscodeUnit(std::move(task), codecs.cache, stop_, collector);
  codecs.published->Publish(codecs.cache.Stats());
  if (!stats.ok()) return stats.error();
  MuxTrack track = rendition.mux;
  // Transport streams carry the parameter sets in the packets: the muxer is told so.
  if (work_.movie->container == Container::kTs) track.parameters = collector.parameters;
  return MakeSegment(work_.movie->container, track, rendition.lead, work_.name.number,
                     std::move(collector.packets));
}

Result<std::string> SegmentJob::MakeAudio() {
  const AudioRendition& rendition = *work_.movie->audio;
  AudioSegmentTask task{.index = work_.movie->index,
                        .grid = rendition.grid,
                        .target = rendition.target,
                        .start = rendition.start,
                        .number = work_.name.number,
                        .packets = {}};
  for (const av::Packet& packet : work_.packets) task.packets.push_back(av::Ref(*packet));
  GOPMILL_ASSIGN_OR_RETURN(auto packets, EncodeAudioSegment(task, stop_));
  return MakeSegment(work_.movie->container, rendition.mux, rendition.lead, work_.name.number,
                     std::move(packets));
}

Result<std::string> SegmentJob::MakeThumbnails(WorkerContext& worker) {
  auto& codecs = *static_cast<WorkerCodecs*>(worker.local);
  auto sheet = MakeSheet({.plan = work_.movie->thumbnails.plan,
                          .runs = work_.runs,
                          .columns = kThumbnailColumns,
                          .rows = kThumbnailRows},
                         codecs.cache, stop_);
  codecs.published->Publish(codecs.cache.Stats());
  return sheet;
}

Result<std::string> SegmentJob::Make(WorkerContext& worker) {
  if (stop_.stop_requested()) return Error{.code = Code::kCancelled, .message = "Cancelled."};
  if (work_.name.track == PartTrack::kAudio) return MakeAudio();
  if (work_.name.track == PartTrack::kThumbnails) return MakeThumbnails(worker);
  return MakeVideo(worker);
}

JobOutcome SegmentJob::Run(WorkerContext& worker) noexcept {
  result_ = Make(worker);
  if (result_.ok()) return JobOutcome::kDone;
  return result_.error().code == Code::kCancelled ? JobOutcome::kCancelled : JobOutcome::kFailed;
}

void SegmentJob::OnReport(const JobReport& /*report*/) noexcept { done_(std::move(result_)); }

}  // namespace gopmill
