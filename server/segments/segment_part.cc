// SPDX-License-Identifier: Apache-2.0
#include "server/segments/segment_part.h"

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <utility>

#include "media/digest.h"
#include "server/segments/segment_subtitles.h"
#include "server/segments/segment_thumbnails.h"
#include "server/segments/segment_work.h"

namespace gopmill {
namespace {

constexpr std::size_t kTagDigits = 32;

struct TrackSize {
  std::size_t renditions = 0;
  std::int64_t segments = 0;
};

TrackSize SizeOf(const SegmentedMovie& movie, PartTrack track) {
  switch (track) {
    case PartTrack::kVideo: return {movie.video.size(), movie.segments.count()};
    case PartTrack::kAudio:
      return movie.audio ? TrackSize{1, movie.audio->grid.count()} : TrackSize{};
    case PartTrack::kSubtitles: return {movie.subtitles.size(), movie.segments.count()};
    case PartTrack::kTimedText: return {};  // of live sources alone
    case PartTrack::kThumbnails: return {1, movie.thumbnails.sheets()};
    case PartTrack::kIFrames: return {movie.iframes ? 1U : 0U, movie.segments.count()};
    case PartTrack::kStills: return {movie.stills.size(), StillMillis(movie)};
  }
  return {};
}

// Lines of a text that have the parameters in them.
std::int64_t LinesOf(const SegmentedMovie& movie, const PartName& name) {
  if (name.kind == PartKind::kPlaylist) return SizeOf(movie, name.track).segments;
  if (name.kind != PartKind::kWhole || name.track != PartTrack::kThumbnails) return 0;
  return static_cast<std::int64_t>(movie.thumbnails.frames.size());
}

// Those of equal durations are one line of a manifest.
std::int64_t EqualRuns(std::int64_t count, const std::function<Rational(std::int64_t)>& duration) {
  std::int64_t runs = 0;
  Rational before;
  for (std::int64_t k = 0; k < count; ++k) {
    const Rational now = duration(k);
    if (k == 0 || now != before) ++runs;
    before = now;
  }
  return runs;
}

// Of a manifest, for segments: of pictures, and of each sound.
std::int64_t ManifestLines(const SegmentedMovie& movie, std::span<const SoundOf> sounds) {
  std::int64_t lines = EqualRuns(movie.segments.count(), [&](std::int64_t k) {
    return VideoSegmentDuration(movie.segments, k);
  });
  for (const SoundOf& sound : sounds) {
    if (sound == nullptr || !sound->audio) continue;
    const AudioGrid& grid = sound->audio->grid;
    lines += EqualRuns(grid.count(), [&](std::int64_t k) { return AudioSegmentDuration(grid, k); });
  }
  return lines;
}

Status CheckLength(const SegmentedMovie& movie, const PartName& name,
                   std::span<const SoundOf> sounds) {
  constexpr std::size_t kBesideQuery = 48;  // of a line, about
  const bool manifest = name.kind == PartKind::kManifest;
  const std::string& query = name.track == PartTrack::kSubtitles ? movie.text_query : movie.query;
  const auto lines =
      static_cast<std::size_t>(manifest ? ManifestLines(movie, sounds) : LinesOf(movie, name));
  if (lines * (manifest ? kBesideQuery : query.size() + kBesideQuery) <= kMaxPlaylistBytes) {
    return OkStatus();
  }
  Error error{.code = Code::kUnsupported,
              .message = "The playlist would be too long: all parameters are in each of its lines.",
              .parameter = "segment",
              .accepted = "longer segments, or fewer parameters"};
  if (!manifest) return error;
  error.message = "The manifest would be too long: it names each segment of each track of sound.";
  error.accepted = "longer segments";
  return error;
}

std::string Cues(const SegmentedMovie& movie, const PartName& name) {
  const auto rendition = static_cast<std::size_t>(name.rendition);
  if (name.track == PartTrack::kThumbnails) return ThumbnailCues(movie);
  if (name.kind == PartKind::kWhole) return WholeSubtitles(movie, rendition);
  return SubtitleSegment(movie, rendition, name.number);
}

}  // namespace

std::string TagOf(std::string_view digest) {
  return "\"" + std::string(digest.substr(0, kTagDigits)) + "\"";
}

bool IsAtHand(const PartName& name) {
  return name.kind != PartKind::kSegment || name.track == PartTrack::kSubtitles;
}

const char* SegmentType(const PartName& name) {
  if (name.track == PartTrack::kStills) return "image/jpeg";
  if (name.track == PartTrack::kThumbnails && name.kind == PartKind::kSegment) return "image/jpeg";
  if (!IsMedia(name.track)) return "text/vtt; charset=utf-8";
  if (name.kind == PartKind::kSegment && name.container == Container::kTs) return "video/mp2t";
  if (name.track == PartTrack::kTimedText) return "application/mp4";
  return name.track == PartTrack::kAudio ? "audio/mp4" : "video/mp4";
}

Status CheckPart(const SegmentedMovie& movie, const PartName& name) {
  const auto missing = [](const char* what) {
    return Error{.code = Code::kNotFound,
                 .message = std::string("The movie has no such ") + what + ".",
                 .parameter = "path",
                 .accepted = "what its playlists name"};
  };
  if (name.kind == PartKind::kMaster || name.kind == PartKind::kManifest) return OkStatus();
  const TrackSize size = SizeOf(movie, name.track);
  if (static_cast<std::size_t>(name.rendition) >= size.renditions) return missing("rendition");
  if (name.kind == PartKind::kInit && movie.container == Container::kTs) return missing("segment");
  if (name.kind != PartKind::kSegment) return OkStatus();
  if (IsMedia(name.track) && name.container != movie.container) return missing("segment");
  if (name.number < size.segments) return OkStatus();
  if (name.track != PartTrack::kStills) return missing("segment");
  return Error{.code = Code::kNotFound,
               .message = "The movie has no picture at this time.",
               .parameter = "path",
               .accepted = fmt::format("p0-0.jpg to p0-{}.jpg: milliseconds", size.segments - 1)};
}

Result<MediaPart> TextPart(const SegmentedMovie& movie, const PartName& name,
                           std::span<const SoundOf> sounds) {
  GOPMILL_RETURN_IF_ERROR(CheckLength(movie, name, sounds));
  std::string text;
  MediaPart part;
  switch (name.kind) {
    case PartKind::kMaster:
      part.content_type = kHlsType;
      text = MasterPlaylist(movie);
      break;
    case PartKind::kPlaylist:
      part.content_type = kHlsType;
      text = name.track == PartTrack::kThumbnails
                 ? ThumbnailPlaylist(movie)
                 : MediaPlaylist(movie, name.track, name.rendition);
      break;
    case PartKind::kManifest: {
      part.content_type = kDashType;
      GOPMILL_ASSIGN_OR_RETURN(text, DashManifest(movie, sounds));
      break;
    }
    case PartKind::kInit:
      part.content_type = SegmentType(name);
      part.max_age_seconds = kSegmentAgeSeconds;
      text = TrackOf(movie, name).init;
      break;
    case PartKind::kWhole:
    case PartKind::kSegment:
      part.content_type = SegmentType(name);
      part.max_age_seconds = kSegmentAgeSeconds;
      text = Cues(movie, name);
      break;
  }
  part.etag = TagOf(Sha256Hex(text));
  part.bytes = std::make_shared<const std::string>(std::move(text));
  return part;
}

}  // namespace gopmill
