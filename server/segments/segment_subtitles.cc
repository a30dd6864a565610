// SPDX-License-Identifier: Apache-2.0
#include "server/segments/segment_subtitles.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "media/language.h"
#include "media/segment_muxer.h"
#include "media/timed_text.h"
#include "server/stream/track_names.h"

namespace gopmill {
namespace {

// The cues that are seen between two times of the movie, on the movie's clock.
std::string Cues(const SegmentedMovie& movie, std::size_t rendition, std::int64_t begin_us,
                 std::int64_t end_us) {
  return CuesBetween(movie.index->subtitles[movie.subtitles[rendition].track].cues,
                     ToTicks(movie.zero, kMicros), begin_us, end_us);
}

std::int64_t BorderMicros(const SegmentedMovie& movie, std::int64_t number) {
  return Rescale(movie.segments.borders[static_cast<std::size_t>(number)],
                 movie.segments.fps.Inverse(), kMicros);
}

}  // namespace

std::string TextHead(Container container) {
  const std::int64_t ticks = container == Container::kTs ? kTsDelayTicks : 0;
  return fmt::format("WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:{},LOCAL:00:00:00.000\n", ticks);
}

std::string CuesBetween(std::span<const SubtitleCue> cues, std::int64_t zero_us,
                        std::int64_t begin_us, std::int64_t end_us) {
  std::string text;
  for (const SubtitleCue& cue : cues) {
    const std::int64_t start = std::max<std::int64_t>(cue.start_us - zero_us, 0);
    const std::int64_t end = cue.end_us - zero_us;
    if (end <= std::max<std::int64_t>(begin_us, 0) || start >= end_us || end <= start) continue;
    text += fmt::format("\n{} --> {}\n{}\n", CueTime(start), CueTime(end), cue.text);
  }
  return text;
}

std::vector<SubtitleRendition> ListSubtitles(const std::vector<SubtitleTrack>& tracks) {
  std::vector<SubtitleRendition> list;
  UniqueNames names;
  bool has_default = false;
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    const SubtitleTrack& track = tracks[i];
    SubtitleRendition rendition{.name = {},
                                .language = LanguageTag(track.language),
                                .is_default = track.is_default && !has_default,
                                .forced = track.forced,
                                .roles = track.roles,
                                .track = i};
    has_default = has_default || track.is_default;
    rendition.name = names.For({track.title, rendition.language, "Subtitles"});
    list.push_back(std::move(rendition));
  }
  return list;
}

std::string SubtitleSegment(const SegmentedMovie& movie, std::size_t rendition,
                            std::int64_t number) {
  const bool last = number + 1 == movie.segments.count();
  return TextHead(movie.container) +
         Cues(movie, rendition, BorderMicros(movie, number),
              last ? std::numeric_limits<std::int64_t>::max() : BorderMicros(movie, number + 1));
}

std::string WholeSubtitles(const SegmentedMovie& movie, std::size_t rendition) {
  return "WEBVTT\n" + Cues(movie, rendition, 0, std::numeric_limits<std::int64_t>::max());
}

}  // namespace gopmill
