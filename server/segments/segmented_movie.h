// SPDX-License-Identifier: Apache-2.0
//
// A movie planned in segments: everything that playlists say and that any segment is made of. Made
// from the index of the source and the request alone; nothing is decoded or transcoded for it.
//
// Thread-safety: safe once made (const).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "codec/audio_segment.h"
#include "codec/video_encoder.h"
#include "media/segment_plan.h"
#include "server/segments/rendition.h"
#include "server/segments/segment_request.h"

namespace gopmill {

struct VideoRendition : SegmentTrack {
  std::shared_ptr<const StreamPlan> plan;
  std::shared_ptr<const EncoderSpec> encoder;
  std::vector<std::int64_t> budgets;  // bits per second, by segment
};

struct AudioRendition : SegmentTrack {
  Target target;
  Rational start{0, 1};  // what of the source is at time 0, seconds
  AudioGrid grid;
};

// A sound track that may be played in place of `audio`: the same presentation with audio=`number`.
struct AudioChoice {
  int number = 0;        // of the source's, from 1
  std::string name;      // unique among them
  std::string language;  // RFC 5646; empty = unknown
  bool chosen = false;   // `audio` is made of it
  int roles = 0;         // StreamRoles
  int channels = 0;      // of what is made of it
  std::int64_t peak_bps = 0, average_bps = 0;
};

inline constexpr int kThumbnailColumns = 5, kThumbnailRows = 5;  // of a sheet
inline constexpr std::int64_t kThumbnailsPerSheet =
    std::int64_t{kThumbnailColumns} * kThumbnailRows;

// Pictures of a presentation for looking around in it, many on a sheet.
struct ThumbnailRendition : SegmentTrack {
  std::shared_ptr<const StreamPlan> plan;  // its target has the size of one
  std::vector<std::int64_t> frames;        // output frame that each shows
  Rational interval{10, 1};                // seconds from one to the next
  [[nodiscard]] std::int64_t sheets() const {
    const auto count = static_cast<std::int64_t>(frames.size());
    return (count + kThumbnailsPerSheet - 1) / kThumbnailsPerSheet;
  }
};

// Single pictures of a rendition, by their time, at its size in square pixels.
struct StillRendition : SegmentTrack {
  std::shared_ptr<const StreamPlan> plan;
};

// A movie and the files of subtitles beside it. Pictures and sound depend on the first alone, so
// they stay what they are when a subtitle is mended, unless it is drawn into them.
struct FileIdentity {
  std::string movie;
  std::string texts;  // empty without any
  bool operator==(const FileIdentity&) const = default;
};

struct SegmentedMovie {
  std::shared_ptr<const SourceIndex> index;
  // Of the file, short, and of every name inside a playlist, "?..."; the subtitles have their own.
  std::string version, query;
  std::string text_version, text_query;
  // Its parts are files (package_movie.h): other sound tracks lie in folders of their own, and
  // names have no query.
  bool packaged = false;
  Container container = Container::kMp4;
  double segment_seconds = 2;
  SegmentGrid segments;
  std::vector<SegmentSpan> spans;     // of all segments, what their pictures are decoded from
  std::vector<VideoRendition> video;  // never empty; as the ladder has them
  std::optional<AudioRendition> audio;
  std::vector<AudioChoice> audio_choices;  // empty without `audio`, else one at least
  std::vector<SubtitleRendition> subtitles;
  ThumbnailRendition thumbnails;
  std::vector<StillRendition> stills;  // as many as `video`
  // The first picture of each segment, of the smallest of `video`; absent where its encoder does
  // not take single pictures of that size.
  std::optional<VideoRendition> iframes;
  Rational zero{0, 1};  // what of the source is at time 0, seconds
  // About, without the index and what is drawn, which others share.
  [[nodiscard]] std::size_t footprint_bytes() const;
};

// `file`: identity of the source; `script`: drawn into the pictures, may be null. Adds no clock, no
// chance: equal arguments, equal plans.
Result<std::shared_ptr<const SegmentedMovie>> PlanMovie(
    std::shared_ptr<const SourceIndex> index, const SegmentRequest& request,
    const RequestParams& params, const FileIdentity& file,
    std::shared_ptr<const SubtitleScript> script);

// Duration of segment `number`, seconds, exact.
Rational VideoSegmentDuration(const SegmentGrid& segments, std::int64_t number);
Rational AudioSegmentDuration(const AudioGrid& grid, std::int64_t number);

}  // namespace gopmill
