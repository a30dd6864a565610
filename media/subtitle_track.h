// SPDX-License-Identifier: Apache-2.0
//
// A source's track of text that is shown over the picture (SubRip, ASS, WebVTT, MP4 timed text), as
// cues in the form that they are used in. Tracks of pictures (PGS, DVD, DVB) are described here,
// too; what they show is in subtitle_bitmaps.h.
//
// FFmpeg's decoder reads the source's form and its encoder writes the text: italics, bold and
// underline stay, positions, fonts and colours go. Only a script keeps them all.
//
// Thread-safety: compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/rational.h"
#include "base/status.h"
#include "media/av_ptr.h"
#include "media/closed_jumps.h"

namespace gopmill {

// Of one track; cues beyond are left out, and `incomplete` tells of it.
inline constexpr std::size_t kMaxCues = 100'000;
inline constexpr std::size_t kMaxTextBytes = std::size_t{64} << 10U;  // of one cue
inline constexpr std::size_t kMaxCueBytes = std::size_t{16} << 20U;
// What is shown until nothing else says so.
inline constexpr std::int64_t kCueMicros = 5'000'000;

enum class CueForm {
  kWebVtt,   // the payload of a cue, without empty lines
  kScript,   // of ASS: "ReadOrder,Layer,Style,Name,MarginL,MarginR,MarginV,Effect,Text", one line
  kSubRip,   // as Matroska has it
  kMovText,  // a sample of MP4 (3GPP TS 26.245)
};
// What tracks are read for; it decides on their form.
enum class TextUse { kWebVtt, kScript, kMatroska, kMp4 };
CueForm FormFor(TextUse use, AVCodecID codec);
AVCodecID CodecOf(CueForm form);

// Times beyond, some 35 years, are no times.
inline constexpr std::int64_t kFarthestMicros = std::int64_t{1} << 50U;
// The end of a cue that is shown until something else says so.
inline constexpr std::int64_t kNoEnd = -1;

// Microseconds since the source's zero.
struct SubtitleCue {
  std::int64_t start_us = 0, end_us = 0;
  std::string text;
  friend bool operator==(const SubtitleCue&, const SubtitleCue&) = default;
};

// Of one track, by start: gives those an end that have none, before the next of them.
void EndCues(std::vector<SubtitleCue>& cues);

struct SubtitleBitmaps;

struct SubtitleTrack {
  int stream_index = -1;  // -1: in a file beside the movie
  std::string codec;      // FFmpeg's name: "subrip"
  std::string language;   // ISO 639 as the source has it, empty = unknown
  std::string title;      // as the source has it
  bool is_default = false, forced = false;
  int roles = 0;                  // StreamRoles
  bool of_pictures = false;       // has no cues, but `bitmaps` once it was read
  std::vector<SubtitleCue> cues;  // by start; only of a track that was read
  bool incomplete = false;
  CueForm form = CueForm::kWebVtt;
  std::string header;  // what cues of this form need: of a script all but its events
  std::shared_ptr<const SubtitleBitmaps> bitmaps;
  friend bool operator==(const SubtitleTrack&, const SubtitleTrack&) = default;
};

// Of cues that were read while the jumps of the movie's pictures were found: `closed` is how many
// there had been when each was read. What is shown only while there are no pictures is left out.
void CloseJumps(const ClosedJumps& jumps, const std::vector<std::size_t>& closed,
                std::vector<SubtitleCue>& cues);
// Of a track that was read where they were not known yet: a file beside the movie.
void CloseJumps(const ClosedJumps& jumps, SubtitleTrack& track);

// For JSON and playlists: one line of UTF-8 without quotes, not long.
std::string TagText(std::string_view text);
// That of a stream's metadata; empty if there is none.
std::string StreamTag(const AVStream& stream, const char* name);
// The same of a language: empty for "und", undetermined (ISO 639).
std::string LanguageText(std::string_view language);
std::string StreamLanguage(const AVStream& stream);
// What the track is for beyond being heard or read (a commentary, for the hard of hearing, ...), as
// AV_DISPOSITION_* flags that containers have.
int StreamRoles(const AVStream& stream);

// What the stream says of itself; nothing if it is neither text nor pictures of subtitles.
std::optional<SubtitleTrack> DescribeSubtitles(const AVStream& stream);

// Of a stream of either kind. `charset`: of its text, if that is not UTF-8. kUnsupported without a
// decoder.
Result<av::CodecContext> OpenSubtitleDecoder(const AVStream& stream, const char* charset = nullptr);

// Turns packets into cues.
class SubtitleReader {
 public:
  // `start_us`: the source's zero on the container's clock. `charset`: of its text, if that is not
  // UTF-8.
  static Result<SubtitleReader> Open(const AVStream& stream, std::int64_t start_us,
                                     CueForm form = CueForm::kWebVtt,
                                     const char* charset = nullptr);

  // The cues of one packet, in order; an end may be kNoEnd. None of a damaged one.
  [[nodiscard]] std::vector<SubtitleCue> Read(const AVPacket& packet) const;
  // The same into a track, within its bounds.
  void Push(const AVPacket& packet, SubtitleTrack& track);
  // All packets have been pushed: cues get their order, and an end where they had none.
  void Finish(SubtitleTrack& track) const;
  [[nodiscard]] std::size_t bytes() const { return bytes_; }  // of cues so far

 private:
  SubtitleReader() = default;
  Status OpenEncoder();
  [[nodiscard]] std::string Written(const AVSubtitle& shown) const;
  void Add(SubtitleCue cue, SubtitleTrack& track);

  CueForm form_ = CueForm::kWebVtt;
  av::CodecContext decoder_, encoder_;  // no encoder for a script
  Rational time_base_;
  std::int64_t start_us_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace gopmill
