// SPDX-License-Identifier: Apache-2.0
//
// A source's track of text that is shown over the picture (SubRip, ASS, WebVTT, MP4 timed text), as
// cues of WebVTT. Tracks of pictures (PGS, DVB, DVD) are not taken.
//
// FFmpeg's decoder reads the source's form and its WebVTT encoder writes the text: italics, bold
// and underline stay, positions, fonts and colours go.
//
// Thread-safety: compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/rational.h"
#include "base/status.h"
#include "media/av_ptr.h"

namespace gopmill {

// Of one track; cues beyond are left out, and `incomplete` tells of it.
inline constexpr std::size_t kMaxCues = 100'000;
inline constexpr std::size_t kMaxCueBytes = std::size_t{16} << 20U;
// What is shown until nothing else says so.
inline constexpr std::int64_t kCueMicros = 5'000'000;

// Microseconds since the source's zero. `text`: the payload of a WebVTT cue, without empty lines.
struct SubtitleCue {
  std::int64_t start_us = 0, end_us = 0;
  std::string text;
};

struct SubtitleTrack {
  int stream_index = -1;  // -1: in a file beside the movie
  std::string codec;      // FFmpeg's name: "subrip"
  std::string language;   // ISO 639 as the source has it, empty = unknown
  std::string title;      // as the source has it
  bool is_default = false, forced = false;
  std::vector<SubtitleCue> cues;  // by start; only in a SourceIndex
  bool incomplete = false;
};

// For JSON and playlists: one line of UTF-8 without quotes, not long.
std::string TagText(std::string_view text);
// That of a stream's metadata; empty if there is none.
std::string StreamTag(const AVStream& stream, const char* name);
// ISO 639, empty if the stream says "undetermined".
std::string StreamLanguage(const AVStream& stream);

// What the stream says of itself; nothing if it is not text.
std::optional<SubtitleTrack> DescribeSubtitles(const AVStream& stream);

// Turns packets into cues.
class SubtitleReader {
 public:
  // `start_us`: the source's zero on the container's clock.
  static Result<SubtitleReader> Open(const AVStream& stream, std::int64_t start_us);

  // A damaged packet is left out.
  void Push(const AVPacket& packet, SubtitleTrack& track);
  // All packets have been pushed: cues get their order, and an end where they had none.
  static void Finish(SubtitleTrack& track);

 private:
  SubtitleReader() = default;

  av::CodecContext decoder_, encoder_;
  Rational time_base_;
  std::int64_t start_us_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace gopmill
