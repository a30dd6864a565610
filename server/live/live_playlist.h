// SPDX-License-Identifier: Apache-2.0
//
// The texts of a live presentation: HLS with low latency (RFC 8216, draft-pantos-hls-rfc8216bis)
// and the dynamic DASH manifest (ISO/IEC 23009-1, DASH-IF's rules for live services). HLS of
// transport streams has whole segments alone, for players that know no others. Pure.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "server/live/live_track.h"
#include "server/segments/presentation_rows.h"
#include "server/segments/segment_thumbnails.h"

namespace gopmill {

// The skip boundary of delta updates, in target durations: the least that the format allows.
inline constexpr int kSkipTargets = 6;

// A sound track, as lists of tracks call it.
struct LiveSound {
  std::string name;      // different for each
  std::string language;  // RFC 5646; may be empty
  int roles = 0;         // StreamRoles
};

// What does not change while a presentation lasts.
struct LiveTerms {
  std::string version;  // of the presentation, in all names inside its playlists
  std::string query;    // of every name inside a playlist, "?..."
  LiveWindow window;
  Container container = Container::kMp4;  // or kTs: segments without parts, for HLS alone
  Rational part;                          // the longest part, seconds, but LiveTrack::longest_part
  int hold_back_parts = 3;        // how far players with low latency stay behind the newest part
  std::vector<Target> targets;    // one for each video rendition
  std::size_t key_rendition = 0;  // the one whose key frames are also listed alone
  ThumbnailSize thumbnail = {};   // of pictures made of these
  std::vector<LiveSound> sounds = {};  // the first is the one that is played
  std::vector<SubtitleRendition> texts = {};
  double segment_seconds = 2;
  CaptionsState captions = CaptionsState::kUnknown;

  [[nodiscard]] bool in_parts() const { return container == Container::kMp4; }
};

// A stretch of media between two discontinuities: a period of DASH.
struct LivePeriod {
  std::int64_t number = 0;
  double start = 0;  // on the presentation's clock, seconds
  WallTime wall = {};
};

// Borrowed under the lock of the presentation.
struct LiveView {
  const LiveTerms& terms;
  const std::vector<LiveTrack>& tracks;  // video renditions, then the sounds
  bool ended = false;
};

std::string LiveMasterPlaylist(const LiveView& view);
// `track`: index into view.tracks, which has a segment.
// `delta`: without the segments that lie more than kSkipTargets target durations back, if there are
// some: for a player that has them (RFC 8216bis 6.2.5.1).
std::string LiveMediaPlaylist(const LiveView& view, std::size_t track, bool delta = false);
// Of the first pictures alone of the segments of key_rendition, which has a complete one; without
// parts (RFC 8216 4.3.3.6).
std::string LiveKeyPlaylist(const LiveView& view, bool delta = false);

// One picture for each of those segments, to be made when it is asked for (LiveThumbnails).
std::string LiveThumbnailPlaylist(const LiveView& view, bool delta = false);

// Of track number `text` of the terms' texts: the segments of the first rendition, which has a
// complete one; without parts.
std::string LiveTextPlaylist(const LiveView& view, std::size_t text, bool delta = false);

struct LiveDashTimes {
  WallTime available_from = {};  // availabilityStartTime
  Duration behind{};             // from a picture's arrival to when its segment is there
  WallTime now = {};
};
// What `behind` has in hand for segments that take longer than those before; and how long before it
// is due a segment is listed at most (it is there, but the machine may have been slow when the
// first manifest was made, and what is listed must be had by the clock that the manifest declares).
inline constexpr std::chrono::milliseconds kDashMargin{1000}, kDashEarly{1500};
// `periods`: all that segments of the tracks lie in, oldest first.
std::string LiveManifest(const LiveView& view, const std::vector<LivePeriod>& periods,
                         const LiveDashTimes& times);

// Number of a track among the sounds; nothing = it is a video rendition.
std::optional<std::size_t> SoundNumber(const LiveView& view, std::size_t track);
// "v0", "a0": how playlists call a track.
std::string TrackName(const LiveView& view, std::size_t track);
// What its texts say of a track of pictures; of a sound, by its number among them; of thumbnails.
PicturesRow PicturesRowOf(const LiveView& view, std::size_t track);
SoundRow SoundRowOf(const LiveView& view, std::size_t number);
TilesRow TilesRowOf(const LiveView& view);

}  // namespace gopmill
