// SPDX-License-Identifier: Apache-2.0
//
// The cut of an indexed source into segments that can be made one by one, in any order. A pure
// function of the index, the frame rate and the length asked for, so all renditions of one frame
// rate have the same borders, and a segment is the same bytes whoever asks for it and when.
//
// Video: segment k owns output frames [borders[k], borders[k+1]). A border lies at the place of
// random access in the source that is nearest to a multiple of the length, if one is within a
// quarter of it (nothing is decoded twice then, but for temporal filters), else at the multiple
// itself.
//
// Audio: packets of the coded stream's own grid (packet m begins m * frame_size - priming samples
// after time 0). Segment k owns packets [borders[k], borders[k+1]), those that begin at or after
// the video's border; sound behind the last picture goes on in segments of the same length.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "media/plan.h"
#include "media/source_index.h"

namespace gopmill {

inline constexpr double kMinSegmentSeconds = 0.5, kMaxSegmentSeconds = 20.0;
// More segments than this are refused; ten days of two seconds each.
inline constexpr std::size_t kMaxSegments = 500'000;

// The least part of the length that the last segment has; sound behind the last picture that is
// shorter belongs to that segment.
inline constexpr double kShortestTail = 0.25;

struct SegmentGrid {
  Rational fps;
  std::vector<std::int64_t> borders;  // frames, ascending, from 0 to the number of frames
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(borders.size()) - 1; }
  [[nodiscard]] std::int64_t frames() const { return borders.back(); }
};

// `frames` = number of output frames. There is at least one segment.
SegmentGrid CutSegments(const SourceIndex& index, const OutputGrid& grid, double seconds,
                        std::int64_t frames);

// Bits per second of each segment: the mean is `bitrate`, and a segment's share follows its share
// of the source's bytes, sub-linearly and within limits (kMaxSegmentWeight times the mean).
inline constexpr double kMaxSegmentWeight = 1.4;
std::vector<std::int64_t> SegmentBudgets(const SourceIndex& index, const OutputGrid& grid,
                                         const SegmentGrid& segments, std::int64_t bitrate);

// The packets that a segment is decoded from. They may begin long before its first frame.
struct SegmentSpan {
  std::int64_t first_packet = 0, end_packet = 0;
  bool preroll = false;                     // from before the last place of random access
  std::optional<SourceTicks> end_pts = {};  // as in UnitSpec
  // Else the next segment is decoded from the same packet on: it may go on with the decoder, which
  // is to be fed what lies behind `end_packet`.
  bool ends_run = true;
  bool run_fed = false;  // there is nothing more to be fed
};

// Of all segments. `context`: StreamPlan::temporal_context; with any, each ends its run.
std::vector<SegmentSpan> SegmentSpans(const SourceIndex& index, const OutputGrid& grid,
                                      const SegmentGrid& segments, int context);

// What becomes of the packets of segment `number`.
UnitSpec SegmentUnit(const SourceIndex& index, const SegmentGrid& segments, const SegmentSpan& span,
                     std::int64_t number, std::int64_t budget_bps);

// Frames [first, end) by themselves, as if they were a segment.
struct FrameRange {
  std::int64_t first = 0, end = 0;
};
UnitSpec FramesUnit(const SourceIndex& index, const OutputGrid& grid, FrameRange frames,
                    std::int64_t budget_bps, int context);
// The same of each, ascending by both borders: the index is gone through once for all of them.
std::vector<UnitSpec> FramesUnits(const SourceIndex& index, const OutputGrid& grid,
                                  const std::vector<FrameRange>& frames, std::int64_t budget_bps,
                                  int context);

struct AudioGrid {
  int rate = 0;                       // samples per second
  int frame_size = 0;                 // samples in a packet
  int priming = 0;                    // samples before time 0 that the encoder adds
  std::int64_t samples = 0;           // length of the sound
  std::vector<std::int64_t> borders;  // packets, ascending, from 0 to their number
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(borders.size()) - 1; }
  // Time of a packet's first sample, samples after time 0 (negative: priming); the end of the sound
  // for the packet behind the last one.
  [[nodiscard]] std::int64_t TimeOf(std::int64_t packet) const;
};

// `samples` > 0, and not those of more than kMaxSegments. Never an empty segment.
AudioGrid CutAudio(const SegmentGrid& video, double seconds, int rate, int frame_size, int priming,
                   std::int64_t samples);

}  // namespace gopmill
