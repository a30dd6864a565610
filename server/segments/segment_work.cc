// SPDX-License-Identifier: Apache-2.0
#include "server/segments/segment_work.h"

#include <limits>
#include <utility>

#include "media/digest.h"
#include "media/held_bytes.h"
#include "media/unseen_pictures.h"
#include "server/segments/segment_thumbnails.h"

namespace gopmill {
namespace {

UnitSpec PictureUnit(const SegmentedMovie& movie, const PartName& name) {
  const VideoRendition& video = RenditionOf(movie, name);
  const auto k = static_cast<std::size_t>(name.number);
  if (name.track == PartTrack::kIFrames) {
    const auto border = movie.segments.borders[k];
    UnitSpec unit = FramesUnit(*movie.index, video.plan->grid, {border, border + 1},
                               video.plan->target.bitrate, video.plan->temporal_context());
    unit.index = UnitIndex{name.number};
    return unit;
  }
  return SegmentUnit(*movie.index, movie.segments, movie.spans[k], name.number,
                     video.budgets.empty() ? 0 : video.budgets[k]);
}

// `bytes`: HeldBytes.
Status CheckSize(std::int64_t bytes) {
  if (bytes <= kMaxSegmentInput) return OkStatus();
  return Error{
      .code = Code::kUnsupported,
      .message = "The source has too few key frames: this has to be decoded from too far away.",
      .accepted =
          "up to 256 MiB from a key frame to the end of a segment or sheet, with 1 KiB for "
          "each picture"};
}

Status CheckSoundSize(std::int64_t bytes) {
  if (bytes <= kMaxSegmentInput) return OkStatus();
  return Error{.code = Code::kUnsupported,
               .message = "The source has too much sound for one segment.",
               .accepted = "up to 256 MiB in a segment, with 1 KiB for each packet"};
}

// Without what `shown`, of `plan`, does not need, unless that is empty.
Result<std::shared_ptr<const UnitInput>> ReadUnit(const SourceIndex& index, const StreamPlan& plan,
                                                  const UnitSpec& spec,
                                                  const std::vector<ShownTimes>& shown,
                                                  SegmentReader& reader) {
  auto unit = std::make_shared<UnitInput>();
  unit->spec = spec;
  unit->coded = index.CodedAt(spec.first_packet);
  GOPMILL_ASSIGN_OR_RETURN(unit->packets, reader.ReadVideo(spec.first_packet, spec.end_packet));
  // Filters that look at neighbours want all of them, and pictures that are counted, too.
  if (!shown.empty() && plan.temporal_context() == 0 && !plan.counted_pts) {
    LeaveOutUnseen(*unit->coded->video.parameters, shown, unit->packets);
  }
  return std::shared_ptr<const UnitInput>(std::move(unit));
}

// Of the unit's packets, those that the segment before was fed.
std::size_t FedBefore(const SegmentedMovie& movie, const PartName& name) {
  const SegmentSpan& before = movie.spans[static_cast<std::size_t>(name.number) - 1];
  return static_cast<std::size_t>(before.end_packet - before.first_packet);
}

// From the first frame on, with what the captions need that it shows. Nothing of a segment that has
// its run together with others: whoever goes on with it has to have decoded all that who begins
// does. Of a source that is damaged or not regular, other pictures could come of less.
std::vector<ShownTimes> ShownFrom(const SegmentedMovie& movie, const PartName& name,
                                  const UnitSpec& spec) {
  if (name.track == PartTrack::kVideo && (!spec.ends_run || GoesOn(movie, name))) return {};
  const OutputGrid& grid = RenditionOf(movie, name).plan->grid;
  return {{.first = grid.LatestPts(spec.first_frame - 1),
           .last = std::numeric_limits<SourceTicks>::max()}};
}

std::vector<ShownTimes> ShownOf(const OutputGrid& grid, const std::vector<std::int64_t>& frames) {
  std::vector<ShownTimes> shown;
  for (const std::int64_t frame : frames) {
    shown.push_back({.first = grid.LatestPts(frame), .last = grid.LatestPts(frame)});
  }
  return shown;
}

const StreamPlan& PlanOfRuns(const SegmentedMovie& movie, const PartName& name) {
  if (name.track == PartTrack::kThumbnails) return *movie.thumbnails.plan;
  return *StillsOf(movie, name).plan;
}

std::vector<ThumbnailRun> RunsOf(const SegmentedMovie& movie, const PartName& name) {
  if (name.track == PartTrack::kThumbnails) return ThumbnailRuns(movie, name.number);
  return {StillRun(movie, StillsOf(movie, name), name.number)};
}

std::int64_t UnitBytes(const UnitSpec& spec) {
  return HeldBytes(spec.source_bytes, spec.end_packet - spec.first_packet);
}

PacketRange SoundRange(const SegmentedMovie& movie, const PartName& name) {
  const AudioRendition& audio = *movie.audio;
  return AudioPackets(*movie.index, audio.grid, audio.start, name.number);
}

std::int64_t SoundBytes(const PacketRange& range) {
  return HeldBytes(range.bytes, range.end - range.first);
}

Status ReadRuns(SegmentReader& reader, SegmentWork& work) {
  const std::vector<ThumbnailRun> runs = RunsOf(*work.movie, work.name);
  const StreamPlan& plan = PlanOfRuns(*work.movie, work.name);
  std::int64_t bytes = 0;
  for (const ThumbnailRun& run : runs) bytes += UnitBytes(run.unit);
  GOPMILL_RETURN_IF_ERROR(CheckSize(bytes));
  for (const ThumbnailRun& run : runs) {
    GOPMILL_ASSIGN_OR_RETURN(auto unit, ReadUnit(*work.movie->index, plan, run.unit,
                                                 ShownOf(plan.grid, run.frames), reader));
    work.runs.push_back(
        {.input = std::move(unit), .entry_frame = run.entry_frame, .frames = run.frames});
  }
  return OkStatus();
}

}  // namespace

std::int64_t SegmentWork::bytes() const {
  std::int64_t sum = 0;
  for (const av::Packet& packet : packets) sum += packet->size;
  for (const SheetRun& run : runs) sum += static_cast<std::int64_t>(run.input->bytes());
  if (unit) sum += static_cast<std::int64_t>(unit->bytes());
  return sum;
}

std::int64_t SegmentWork::frames() const {
  std::int64_t sum = 0;
  for (const SheetRun& run : runs) sum += static_cast<std::int64_t>(run.frames.size());
  if (unit) sum += unit->spec.frame_count();
  return sum;
}

namespace {

std::int64_t BytesToRead(const SegmentedMovie& movie, const PartName& name) {
  if (name.track == PartTrack::kAudio) return SoundBytes(SoundRange(movie, name));
  if (name.track != PartTrack::kThumbnails && name.track != PartTrack::kStills) {
    return UnitBytes(PictureUnit(movie, name));
  }
  std::int64_t sum = 0;
  for (const ThumbnailRun& run : RunsOf(movie, name)) sum += UnitBytes(run.unit);
  return sum;
}

}  // namespace

std::int64_t WorkBytes(const SegmentedMovie& movie, const PartName& name) {
  const std::int64_t bytes = BytesToRead(movie, name);
  return bytes <= kMaxSegmentInput ? bytes : 0;
}

Result<SegmentWork> ReadSegmentWork(std::shared_ptr<const SegmentedMovie> movie,
                                    const PartName& name, SegmentReader& reader) {
  SegmentWork work{
      .movie = std::move(movie), .name = name, .unit = nullptr, .runs = {}, .packets = {}};
  if (name.track == PartTrack::kAudio) {
    const PacketRange range = SoundRange(*work.movie, name);
    GOPMILL_RETURN_IF_ERROR(CheckSoundSize(SoundBytes(range)));
    GOPMILL_ASSIGN_OR_RETURN(work.packets, reader.ReadAudio(range.first, range.end));
    return work;
  }
  if (name.track == PartTrack::kThumbnails || name.track == PartTrack::kStills) {
    GOPMILL_RETURN_IF_ERROR(ReadRuns(reader, work));
    return work;
  }
  const UnitSpec spec = PictureUnit(*work.movie, name);
  GOPMILL_RETURN_IF_ERROR(CheckSize(UnitBytes(spec)));
  const StreamPlan& plan = *RenditionOf(*work.movie, name).plan;
  GOPMILL_ASSIGN_OR_RETURN(work.unit, ReadUnit(*work.movie->index, plan, spec,
                                               ShownFrom(*work.movie, name, spec), reader));
  if (GoesOn(*work.movie, name)) work.fed_before = FedBefore(*work.movie, name);
  return work;
}

Result<std::vector<SegmentWork>> ReadLadderWork(std::shared_ptr<const SegmentedMovie> movie,
                                                std::int64_t number, SegmentReader& reader) {
  const PartName first{.kind = PartKind::kSegment, .number = number, .container = movie->container};
  std::vector<SegmentWork> works;
  GOPMILL_ASSIGN_OR_RETURN(works.emplace_back(), ReadSegmentWork(movie, first, reader));
  for (std::size_t r = 1; r < movie->video.size(); ++r) {
    SegmentWork work = {.movie = movie, .name = first, .unit = nullptr, .runs = {}, .packets = {}};
    work.name.rendition = static_cast<int>(r);
    auto unit = std::make_shared<UnitInput>();
    unit->spec = PictureUnit(*movie, work.name);
    unit->coded = works.front().unit->coded;
    for (const av::Packet& packet : works.front().unit->packets) {
      unit->packets.push_back(av::Ref(*packet));
    }
    work.unit = std::move(unit);
    works.push_back(std::move(work));
  }
  return works;
}

const StillRendition& StillsOf(const SegmentedMovie& movie, const PartName& name) {
  return movie.stills[static_cast<std::size_t>(name.rendition)];
}

bool GoesOn(const SegmentedMovie& movie, const PartName& name) {
  return name.track == PartTrack::kVideo && name.number > 0 &&
         !movie.spans[static_cast<std::size_t>(name.number) - 1].ends_run;
}

std::string KeyOf(const SegmentedMovie& movie, const PartName& name) {
  const std::int64_t number =
      name.track == PartTrack::kStills ? StillFrame(movie, name.number) : name.number;
  return Sha256Hex(TrackOf(movie, name).identity + ";" + std::to_string(number));
}

const SegmentTrack& TrackOf(const SegmentedMovie& movie, const PartName& name) {
  if (name.track == PartTrack::kAudio) return *movie.audio;
  if (name.track == PartTrack::kThumbnails) return movie.thumbnails;
  if (name.track == PartTrack::kStills) return StillsOf(movie, name);
  return RenditionOf(movie, name);
}

const VideoRendition& RenditionOf(const SegmentedMovie& movie, const PartName& name) {
  if (name.track == PartTrack::kIFrames) return *movie.iframes;
  return movie.video[static_cast<std::size_t>(name.rendition)];
}

}  // namespace gopmill
