// SPDX-License-Identifier: Apache-2.0
//
// Text in CMAF, as DASH's live players take it: one TTML document (W3C IMSC 1.1, text profile) for
// each segment, in fragments of MP4 ('stpp', ISO/IEC 14496-30). Italics, bold and underline of
// WebVTT stay. Documents are well-formed XML whatever the cues say.
//
// Times of documents and segments are on the track's clock. Thread-safety: safe (pure functions).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/rational.h"
#include "base/status.h"
#include "media/subtitle_track.h"

namespace gopmill {

inline constexpr Rational kTimedTextTick{1, 1000};                // seconds
inline constexpr const char* kTimedTextCodec = "stpp.ttml.im1t";  // RFC 6381

// A time of TTML and of WebVTT, "01:02:03.004"; not negative.
std::string CueTime(std::int64_t us);

// What is seen of `cues`, by start and of CueForm::kWebVtt, between two times; these, and those in
// the document, count from `zero_us` of the cues' clock. A cue is cut at both: whoever shows
// segment after segment shows it once.
std::string TimedTextDocument(std::span<const SubtitleCue> cues, std::int64_t zero_us,
                              std::int64_t begin_us, std::int64_t end_us);

// `language`: of MuxTrack.
Result<std::string> MakeTimedTextInit(const std::string& language);
// Segment `number` (from 0), which lasts from `begin` to `end`, ticks.
Result<std::string> MakeTimedTextSegment(std::int64_t number, std::int64_t begin, std::int64_t end,
                                         const std::string& document);

}  // namespace gopmill
