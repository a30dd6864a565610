// SPDX-License-Identifier: Apache-2.0
#include "server/session/segment_work.h"

#include <utility>

#include "server/session/segment_thumbnails.h"

namespace gopmill {
namespace {

UnitSpec PictureUnit(const SegmentedMovie& movie, const PartName& name) {
  const VideoRendition& video = movie.video[static_cast<std::size_t>(name.rendition)];
  const auto k = static_cast<std::size_t>(name.number);
  return SegmentUnit(*movie.index, video.plan->grid, movie.segments, name.number,
                     video.budgets.empty() ? 0 : video.budgets[k]);
}

Status ReadUnits(const std::vector<UnitSpec>& specs, SegmentReader& reader, SegmentWork& work) {
  std::int64_t bytes = 0;
  for (const UnitSpec& spec : specs) bytes += spec.source_bytes;
  if (bytes > kMaxSegmentInput) {
    return Error{.code = Code::kUnsupported,
                 .message =
                     "The source has too few key frames: a segment has to be decoded from too "
                     "far away.",
                 .accepted = "up to 256 MiB from a key frame to the end of a segment"};
  }
  for (const UnitSpec& spec : specs) {
    auto unit = std::make_shared<UnitInput>();
    unit->spec = spec;
    GOPMILL_ASSIGN_OR_RETURN(unit->packets, reader.ReadVideo(spec.first_packet, spec.end_packet));
    work.units.push_back(std::move(unit));
  }
  return OkStatus();
}

}  // namespace

std::int64_t SegmentWork::bytes() const {
  std::int64_t sum = 0;
  for (const av::Packet& packet : packets) sum += packet->size;
  for (const auto& unit : units) sum += unit->spec.source_bytes;
  return sum;
}

std::int64_t SegmentWork::frames() const {
  std::int64_t sum = 0;
  for (const auto& unit : units) sum += unit->spec.frame_count();
  return sum;
}

Result<SegmentWork> ReadSegmentWork(std::shared_ptr<const SegmentedMovie> movie,
                                    const PartName& name, SegmentReader& reader) {
  SegmentWork work{.movie = std::move(movie), .name = name, .units = {}, .packets = {}};
  if (name.track == PartTrack::kAudio) {
    const AudioRendition& audio = *work.movie->audio;
    const PacketRange range =
        AudioPackets(*work.movie->index, audio.grid, audio.start, name.number);
    GOPMILL_ASSIGN_OR_RETURN(work.packets, reader.ReadAudio(range.first, range.end));
    return work;
  }
  const std::vector<UnitSpec> specs = name.track == PartTrack::kThumbnails
                                          ? ThumbnailUnits(*work.movie, name.number)
                                          : std::vector{PictureUnit(*work.movie, name)};
  GOPMILL_RETURN_IF_ERROR(ReadUnits(specs, reader, work));
  return work;
}

const SegmentTrack& TrackOf(const SegmentedMovie& movie, const PartName& name) {
  if (name.track == PartTrack::kAudio) return *movie.audio;
  if (name.track == PartTrack::kThumbnails) return movie.thumbnails;
  return movie.video[static_cast<std::size_t>(name.rendition)];
}

}  // namespace gopmill
