// SPDX-License-Identifier: Apache-2.0
//
// Rebases a source's timestamps once, at the ingest: the earliest track starts at zero, jumps are
// closed, missing times are filled in. Everything behind the ingest sees clean times.
//
// Pure. A jump of the decoding time of more than kMaxGapSeconds forwards against what the track's
// last packet leads to expect, or of kMaxBackSeconds backwards, is closed. One of the pictures (the
// first track) is taken out of all tracks at once, so that sound stays with them; out of what of
// another track still comes from before the jump it is not. One of another
// track is taken out of that track alone, until its times fit without that: either it came first
// where all jump, or it jumped alone, which must not move the others at each turn. A step forwards
// that is meant (MarkMeant) is no jump. Nor is one to where another track, which was there before,
// already is: this track has paused, for kMaxPauseSeconds at most, or if it is not the pictures,
// for as long as those went on (a microphone that sends nothing while it is quiet). Nor is one to a
// time that is not behind the latest picture's that has come (slides, coded out of order). A piece
// that is sent again takes all tracks back by nearly the same time, which may be more than
// kMaxBackSeconds for some of them. What the pictures do counts: other tracks may go back by
// kMaxOtherBackSeconds, and those that come to a jump first are moved as far as the pictures are.
// This bounds the frames that a broken timestamp can duplicate. So do four more rules: a
// presentation time that lies kMaxAheadSeconds behind its decoding time (and is not meant), or
// kMaxGapSeconds in front of it, counts as missing, and so does one that no clock shows
// (kMostSeconds); no packet lasts longer than kMaxPacketSeconds; a decoding time that is missing or
// closes a jump is at most kMaxGapSeconds after the last packet's, whatever duration a broken
// header gives that.
//
// Packets that nothing shows (av::IsHidden) lie anywhere: their times are moved with the others,
// and tell nothing.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/rational.h"
#include "media/av_ptr.h"
#include "media/closed_jumps.h"

namespace gopmill {

inline constexpr double kMaxGapSeconds = 10.0;
inline constexpr double kMaxBackSeconds = 1.0;
inline constexpr double kMaxOtherBackSeconds = 1.5;
// Pictures that are shown for long, and B pictures among them.
inline constexpr double kMaxAheadSeconds = 90.0;
inline constexpr double kMaxPauseSeconds = 600;
inline constexpr double kMaxPacketSeconds = 3600;  // a slide may be shown for long
inline constexpr double kMostSeconds = 1e11;       // clocks that count from 1900 are far below

// Its container means the time between its track's packet before and this one, or between decoding
// and showing it, up to kMaxPacketSeconds (LongSteps). Kept in the packet's `opaque`.
void MarkMeant(AVPacket& packet);

class TimestampRepair {
 public:
  // `zero_us`: container time of the source's zero, microseconds. One entry per track; `reorders`
  // is whether its decoding and display orders may differ; `frame_seconds` = its nominal packet
  // duration, 0 = unknown.
  struct Track {
    Rational time_base;
    bool reorders = false;
    double frame_seconds = 0;
  };
  TimestampRepair(std::int64_t zero_us, const std::vector<Track>& tracks);

  // Rewrites pts, dts and duration of the next packet of `track` (ticks of its time base). The pts
  // stays missing (AV_NOPTS_VALUE) only where it cannot be known.
  void Fix(std::size_t track, AVPacket& packet);

  // Where a time since the source's zero lies after what is known of the pictures' jumps: of what
  // has no clock of its own to tell jumps by, such as text that says nothing for an hour.
  [[nodiscard]] std::int64_t Shifted(std::int64_t us) const { return us + shift_us_; }

  // Those of the pictures, in the order of reading; kMaxClosedJumps at most.
  [[nodiscard]] const ClosedJumps& closed() const { return closed_; }

  [[nodiscard]] std::int64_t repaired() const { return repaired_; }  // jumps closed, times made up
  [[nodiscard]] std::int64_t jumps() const { return jumps_; }        // of them, of all tracks

 private:
  struct StepBack {
    std::int64_t from = 0, by = 0;  // ticks
  };
  struct State {
    Track track;
    std::int64_t zero = 0;         // in ticks
    std::int64_t own = 0;          // ticks added to this track alone
    std::int64_t alone = 0;        // of them, by the last jump that it came to alone
    std::int64_t untold = 0;       // by which the pictures have jumped since its last packet
    std::optional<StepBack> back;  // that was no jump, until it is where it was before
    std::optional<std::int64_t> first_dts, last_dts;  // after repair
    std::optional<std::int64_t> latest_pts;           // of pictures that are reordered
    std::int64_t last_duration = 0;
  };
  void Bound(const Track& track, AVPacket& packet);
  // The track's clock after all that is known of jumps, its own among them.
  [[nodiscard]] std::int64_t Rebase(const State& state, std::int64_t ticks) const;
  // The decoding time of the next packet where its own does not count.
  [[nodiscard]] static std::int64_t Next(const State& state);
  void CloseJump(State& state, std::int64_t raw_dts);
  [[nodiscard]] bool IsPause(const State& state, double seconds) const;
  void TellOthers(std::int64_t shift_us);
  static void Remember(State& state, const AVPacket& packet);
  std::vector<State> states_;
  ClosedJumps closed_;
  std::int64_t shift_us_ = 0;  // added to all tracks by closed jumps
  std::int64_t repaired_ = 0, jumps_ = 0;
};

}  // namespace gopmill
