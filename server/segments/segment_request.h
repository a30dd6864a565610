// SPDX-License-Identifier: Apache-2.0
//
// What may be asked for below /v1/hls/{movie}/ and /v1/dash/{movie}/: the name of a part, and the
// parameters that all parts of one presentation share. Pure.
//
// Names: master.m3u8, manifest.mpd; v0.m3u8, a0.m3u8, s0.m3u8 (the playlist of a rendition of
// pictures, sound, subtitles); v0-init.mp4; v0-17.m4s, v0-17.ts, s0-17.vtt (its segment 17); s0.vtt
// (all of its subtitles). Thumbnails: t0.m3u8 (image playlist), t0.vtt (all of them by time),
// t0-17.jpg (sheet 17). Key frames alone: i0.m3u8, i0-init.mp4, i0-17.m4s, i0-17.ts (the first
// picture of segment 17). A still: p0-12500.jpg (what is seen after 12.5 s). Text in CMAF:
// x0-init.mp4, x0-17.m4s (of live sources alone).
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "media/target.h"
#include "media/target_params.h"
#include "server/api/service.h"

namespace gopmill {

inline constexpr std::size_t kMaxRungs = 12;

enum class PartKind { kMaster, kManifest, kPlaylist, kInit, kSegment, kWhole };
enum class PartTrack { kVideo, kAudio, kSubtitles, kTimedText, kThumbnails, kIFrames, kStills };

struct PartName {
  PartKind kind = PartKind::kMaster;
  PartTrack track = PartTrack::kVideo;
  int rendition = 0;
  std::int64_t number = 0;                // kSegment only; of stills their time, milliseconds
  Container container = Container::kMp4;  // kSegment only, of pictures and sound
};

// 'v', 'a', 's', 'x', 't', 'i', 'p'.
char LetterOf(PartTrack track);
// Whether its segments are of the presentation's container.
bool IsMedia(PartTrack track);

// A number of an address, which has one form: digits only, no leading zeros, at most nine.
std::optional<std::int64_t> ParsePlainNumber(std::string_view text);

// kNotFound, saying what there is, for anything but the names above.
Result<PartName> ParsePartName(std::string_view name);
// The other way round.
std::string TextOf(const PartName& part);

// One rendition of a ladder: the box that the picture is fitted into, and its bit rate.
struct Rung {
  int width = 0, height = 0;
  std::int64_t bitrate = 0;  // bits per second
  bool operator==(const Rung&) const = default;
};

// "1280x720:2500k,640x360:700k": one to kMaxRungs.
Result<std::vector<Rung>> ParseRungs(std::string_view text, const std::string& parameter);

struct SegmentDefaults {
  double segment_seconds = 2;
  std::vector<Rung> ladder;
};

struct SegmentRequest {
  TargetRequest target;      // what all renditions share; with size and rate if there is one only
  std::vector<Rung> rungs;   // empty: one rendition, as `target` says
  bool rungs_given = false;  // named by the client, not by the server's ladder
  double segment_seconds = 2;
  std::string version;  // of the movie, as its playlists name it; empty = any
};

// The parameters of a transcode that segments take, with what they take of each.
std::vector<ParamDoc> SegmentParams();

// Parameters as for a transcode, and: rungs, segment (seconds), version. A size, bit rate or crf
// asks for one rendition. What cannot be done in segments is refused: other containers, copied
// sound, MPEG-4, units, rates without a limit.
Result<SegmentRequest> ParseSegmentParams(const RequestParams& params,
                                          const SegmentDefaults& defaults);

// The parameters as a query for the names inside a playlist, with this version; in a fixed order.
std::string QueryFor(const RequestParams& params, std::string_view version);

}  // namespace gopmill
