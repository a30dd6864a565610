// SPDX-License-Identifier: Apache-2.0
#include "server/segments/segment_thumbnails.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "media/timed_text.h"

namespace gopmill {
namespace {

// Output frames at which the source can be entered, ascending.
std::vector<std::int64_t> KeyFrames(const SegmentedMovie& movie, const OutputGrid& grid) {
  std::vector<std::int64_t> frames;
  for (const SourceIndex::Video& packet : movie.index->video) {
    if (packet.access == RandomAccess::kNone) continue;
    const std::int64_t frame = grid.FirstFrameShowing(packet.pts);
    if (frame < movie.segments.frames()) frames.push_back(frame);
  }
  std::ranges::sort(frames);
  return frames;
}

std::int64_t Nearest(const std::vector<std::int64_t>& keys, std::int64_t wanted,
                     std::int64_t farthest) {
  std::int64_t best = wanted, distance = farthest + 1;
  const auto above = std::ranges::lower_bound(keys, wanted);
  const auto look = [&](std::int64_t key) {
    if (std::abs(key - wanted) >= distance) return;
    best = key;
    distance = std::abs(key - wanted);
  };
  if (above != keys.begin()) look(*std::prev(above));
  if (above != keys.end()) look(*above);
  return best;
}

std::int64_t FrameAt(const SegmentGrid& segments, Rational seconds) {
  return Rescale(1, seconds, segments.fps.Inverse());
}

double SheetSeconds(const SegmentGrid& segments, const ThumbnailRendition& thumbnails,
                    std::int64_t number) {
  const double sheet = thumbnails.interval.ToDouble() * kThumbnailsPerSheet;
  const double total = static_cast<double>(segments.frames()) / segments.fps.ToDouble();
  return std::min(sheet, total - sheet * static_cast<double>(number));
}

std::int64_t MicrosOf(const ThumbnailRendition& thumbnails, std::int64_t tile) {
  return Rescale(tile, thumbnails.interval, kMicros);
}

}  // namespace

ThumbnailSize FitThumbnail(int width, int height, Rational sample_aspect) {
  const double wide = width * (sample_aspect.positive() ? sample_aspect.ToDouble() : 1.0);
  const double scale = std::min(kThumbnailWidth / wide, 1.0 * kThumbnailHeight / height);
  const auto even = [scale](double side) {
    return std::max(2, 2 * static_cast<int>(std::lround(side * scale / 2)));
  };
  return {even(wide), even(height)};
}

namespace {

// That of a rendition for pictures of another size, whose pixels are square.
std::shared_ptr<StreamPlan> SquarePlan(const VideoRendition& video, ThumbnailSize size) {
  auto plan = std::make_shared<StreamPlan>(*video.plan);
  plan->target.width = size.width;
  plan->target.height = size.height;
  plan->target.degrain = Denoise::kOff;  // not worth the pictures around each
  return plan;
}

}  // namespace

StillRendition PlanStills(const VideoRendition& video) {
  const Target& target = video.plan->target;
  const Rational& aspect = video.encoder->sample_aspect;
  ThumbnailSize size{target.width, target.height};
  if (aspect.positive() && aspect != Rational{1, 1}) {
    const auto wide = 2 * std::llround(target.width * aspect.ToDouble() / 2);
    size.width = static_cast<int>(std::clamp<long long>(wide, 2, kMaxSide));
  }
  StillRendition made;
  made.plan = SquarePlan(video, size);
  made.codecs = "jpeg";
  made.identity = fmt::format("{};p;{}x{}", video.identity, size.width, size.height);
  return made;
}

std::int64_t StillMillis(const SegmentedMovie& movie) {
  return Rescale(movie.segments.frames(), movie.segments.fps.Inverse(), {1, 1000}, Round::kUp);
}

std::int64_t StillFrame(const SegmentedMovie& movie, std::int64_t millis) {
  const SegmentGrid& segments = movie.segments;
  return std::min(Rescale(millis, {1, 1000}, segments.fps.Inverse(), Round::kDown),
                  segments.frames() - 1);
}

ThumbnailRun StillRun(const SegmentedMovie& movie, const StillRendition& stills,
                      std::int64_t millis) {
  const std::int64_t frame = StillFrame(movie, millis);
  const OutputGrid& grid = stills.plan->grid;
  const UnitSpec unit =
      FramesUnit(*movie.index, grid, {frame, frame + 1}, 0, stills.plan->temporal_context());
  const SourceTicks entry = movie.index->video[static_cast<std::size_t>(unit.first_packet)].pts;
  return {.unit = unit,
          .entry_frame = std::min(grid.FirstFrameShowing(entry), frame),
          .frames = {frame}};
}

ThumbnailRendition PlanThumbnails(const SegmentedMovie& movie) {
  ThumbnailRendition made;
  const VideoRendition& video = movie.video.front();
  const ThumbnailSize size = FitThumbnail(video.plan->target.width, video.plan->target.height,
                                          video.encoder->sample_aspect);
  auto plan = SquarePlan(video, size);
  const double segments = std::max(1.0, std::round(kThumbnailSeconds / movie.segment_seconds));
  made.interval = {std::llround(segments * movie.segment_seconds * 1000), 1000};
  const std::vector<std::int64_t> keys = KeyFrames(movie, plan->grid);
  const std::int64_t half = FrameAt(movie.segments, made.interval) / 2;
  for (std::int64_t tile = 0;; ++tile) {
    const Rational time{made.interval.num * tile, made.interval.den};
    const std::int64_t wanted = FrameAt(movie.segments, time);
    if (wanted >= movie.segments.frames()) break;
    made.frames.push_back(Nearest(keys, wanted, half));
  }
  const std::int64_t pixels = kThumbnailsPerSheet * size.width * size.height;
  made.peak_bps = std::llround(static_cast<double>(pixels * kJpegBitsPerPixel) /
                               SheetSeconds(movie.segments, made, made.sheets() - 1)) +
                  1;
  made.average_bps = made.peak_bps;
  made.codecs = "jpeg";
  made.identity = fmt::format("{};t;{}x{};{}/{}", video.identity, size.width, size.height,
                              made.interval.num, made.interval.den);
  made.plan = std::move(plan);
  return made;
}

double ThumbnailSheetSeconds(const SegmentedMovie& movie, std::int64_t number) {
  return SheetSeconds(movie.segments, movie.thumbnails, number);
}

// What is decoded from the same packet on is one run: the unit of its first tile, up to the end of
// that of its last one.
std::vector<ThumbnailRun> ThumbnailRuns(const SegmentedMovie& movie, std::int64_t number) {
  const ThumbnailRendition& thumbnails = movie.thumbnails;
  const OutputGrid& grid = thumbnails.plan->grid;
  const auto count = static_cast<std::int64_t>(thumbnails.frames.size());
  std::vector<FrameRange> tiles;
  for (std::int64_t tile = number * kThumbnailsPerSheet;
       tile < std::min((number + 1) * kThumbnailsPerSheet, count); ++tile) {
    const std::int64_t frame = thumbnails.frames[static_cast<std::size_t>(tile)];
    tiles.push_back({frame, frame + 1});
  }
  std::vector<ThumbnailRun> runs;
  for (const UnitSpec& alone :
       FramesUnits(*movie.index, grid, tiles, 0, thumbnails.plan->temporal_context())) {
    const std::int64_t frame = alone.first_frame;
    if (runs.empty() || runs.back().unit.first_packet != alone.first_packet) {
      const auto first = static_cast<std::size_t>(alone.first_packet);
      const SourceTicks entry = movie.index->video[first].pts;
      runs.push_back({.unit = alone,
                      .entry_frame = std::min(grid.FirstFrameShowing(entry), frame),
                      .frames = {frame}});
      continue;
    }
    ThumbnailRun& run = runs.back();
    run.unit.end_frame = alone.end_frame;
    run.unit.end_packet = alone.end_packet;
    run.unit.source_bytes = alone.source_bytes;
    run.frames.push_back(frame);
  }
  return runs;
}

std::string ThumbnailPlaylist(const SegmentedMovie& movie) {
  const ThumbnailRendition& thumbnails = movie.thumbnails;
  const double interval = thumbnails.interval.ToDouble(), sheet = interval * kThumbnailsPerSheet;
  const Target& target = thumbnails.plan->target;
  std::string text = fmt::format(
      "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:{}\n#EXT-X-MEDIA-SEQUENCE:0\n"
      "#EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-IMAGES-ONLY\n",
      std::llround(sheet));
  double left = static_cast<double>(movie.segments.frames()) / movie.segments.fps.ToDouble();
  for (std::int64_t k = 0; k < thumbnails.sheets(); ++k, left -= sheet) {
    text += fmt::format(
        "#EXTINF:{:.6f},\n#EXT-X-TILES:RESOLUTION={}x{},LAYOUT={}x{},DURATION={:.6f}\nt0-{}.jpg{}"
        "\n",
        std::min(sheet, left), target.width, target.height, kThumbnailColumns, kThumbnailRows,
        interval, k, movie.query);
  }
  return text + "#EXT-X-ENDLIST\n";
}

std::string ThumbnailCues(const SegmentedMovie& movie) {
  const ThumbnailRendition& thumbnails = movie.thumbnails;
  const Target& target = thumbnails.plan->target;
  const std::int64_t end_us =
      Rescale(movie.segments.frames(), movie.segments.fps.Inverse(), kMicros);
  std::string text = "WEBVTT\n";
  const auto count = static_cast<std::int64_t>(thumbnails.frames.size());
  for (std::int64_t tile = 0; tile < count; ++tile) {
    const std::int64_t place = tile % kThumbnailsPerSheet;
    text += fmt::format(
        "\n{} --> {}\nt0-{}.jpg{}#xywh={},{},{},{}\n", CueTime(MicrosOf(thumbnails, tile)),
        CueTime(std::min(MicrosOf(thumbnails, tile + 1), end_us)), tile / kThumbnailsPerSheet,
        movie.query, place % kThumbnailColumns * target.width,
        place / kThumbnailColumns * target.height, target.width, target.height);
  }
  return text;
}

}  // namespace gopmill
