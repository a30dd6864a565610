// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "media/unit_planner.h"
#include "server/live/live_segmenter.h"

namespace gopmill {
namespace {

constexpr std::int64_t kClock = 90'000;

struct LiveCase {
  int fps = 25, key_distance = 50, held = 2;
  double segment_seconds = 2, part_seconds = 0.2;
};

// Pictures in the order of decoding, each `held` ones behind the one that is shown after them; GOPs
// are closed.
std::vector<PacketMeta> PacketsOf(const LiveCase& source, int pictures) {
  std::vector<PacketMeta> packets;
  const auto add = [&](int shown, bool key) {
    packets.push_back({.pts = shown * kClock / source.fps,
                       .duration = kClock / source.fps,
                       .bytes = 1000,
                       .access = key ? RandomAccess::kClosed : RandomAccess::kNone});
  };
  for (int begin = 0; begin < pictures; begin += source.key_distance) {
    const int end = begin + source.key_distance;
    add(begin, true);
    for (int shown = begin + 1; shown < end; shown += source.held + 1) {
      const int later = std::min(shown + source.held, end - 1);
      add(later, false);
      for (int before = shown; before < later; ++before) add(before, false);
    }
  }
  return packets;
}

// Lengths of segments that such a source is cut into, frames, as LiveSegmenter ends them.
std::vector<std::int64_t> Segments(const LiveCase& source, const LiveCut& cut) {
  const Rational fps{source.fps, 1}, tick{1, static_cast<std::int32_t>(kClock)};
  UnitPlanner planner(
      OutputGrid(fps, fps, tick, 0),
      {.unit_seconds = static_cast<double>(kUnitParts * cut.part_frames) / fps.ToDouble(),
       .source_fps = fps,
       .source_time_base = tick,
       .live = true,
       .reorder_delay = source.held > 0 ? 1 : 0});
  std::vector<UnitSpec> units;
  for (const PacketMeta& packet : PacketsOf(source, 400)) planner.Push(packet, units);
  std::vector<std::int64_t> segments;
  std::int64_t begin = 0;
  for (const UnitSpec& unit : units) {
    if (unit.end_frame - begin < cut.segment_frames) continue;
    segments.push_back(unit.end_frame - begin);
    begin = unit.end_frame;
  }
  return segments;
}

LiveCut CutOf(const LiveCase& source) {
  return LiveCutFor({.segment_seconds = source.segment_seconds,
                     .part_seconds = source.part_seconds,
                     .fps = Rational{source.fps, 1},
                     .source_fps = Rational{source.fps, 1},
                     .low_delay = false});
}

// RFC 8216, 4.3.3.1: rounded to the nearest second.
TEST(LiveCutTest, NoSegmentIsLongerThanTheTargetDuration) {
  int checked = 0;
  for (const int fps : {5, 6, 8, 10, 12, 15, 24, 25, 30, 50, 60}) {
    for (const int keys : {1, 13, 50, 97, 250}) {
      for (const int held : {0, 1, 2}) {
        for (const double segment : {0.5, 1.0, 1.2, 2.0, 2.2, 6.0}) {
          for (const double part : {0.1, 0.2, 0.5, 1.5, 2.0}) {
            const LiveCase source{fps, keys, held, segment, part};
            const LiveCut cut = CutOf(source);
            const int target = TargetSecondsFor(cut, {fps, 1}, 48'000);
            for (const std::int64_t frames : Segments(source, cut)) {
              EXPECT_LE(frames, cut.longest_frames)
                  << fps << " fps, keys each " << keys << ", held " << held << ", " << segment
                  << " s in parts of " << part << " s";
              EXPECT_LE(std::lround(static_cast<double>(frames) / fps), target);
              ++checked;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(checked, 10'000);
}

TEST(LiveCutTest, TheTargetDurationIsNoLongerThanItHasToBe) {
  for (const int fps : {24, 25, 30, 50, 60}) {
    EXPECT_EQ(TargetSecondsFor(CutOf({.fps = fps}), {fps, 1}, 48'000), 2) << fps << " fps";
  }
  // A packet of sound counts.
  EXPECT_EQ(TargetSecondsFor({.longest_frames = 249}, {100, 1}, 0), 2);
  EXPECT_EQ(TargetSecondsFor({.longest_frames = 249}, {100, 1}, 16'000), 3);
}

}  // namespace
}  // namespace gopmill
