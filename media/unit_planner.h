// SPDX-License-Identifier: Apache-2.0
//
// Cuts a stream of source packets into units: pure, one packet at a time, in decode order, so that
// the same code plans a file, a pipe and a live stream. What it emits depends on the packets and
// the options alone.
//
// Terms. A *run* is what one decoder goes through without a reset; a unit that starts a run can be
// worked on at any time, a chained unit follows its predecessor's decoder. Cuts:
//   - closed random access: a new run starts there once the unit is long enough;
//   - open GOP or recovery point: cut with preroll, but only when the run has lasted
//     kOpenRunSeconds, since each such cut decodes its leading pictures twice, or two GOPs at a
//     recovery point (of live sources one or two always); before that the run simply goes on;
//   - closed, but filters look at neighbouring pictures (temporal_context): as if it were open,
//     with preroll from where enough pictures lie before the cut, and enough of those behind it;
//   - none for two unit lengths: the run is split at one unit length (chained, nothing is decoded
//     twice: the worker hands its decoder on), and what is left at its end in equal parts if it is
//     long, any number of them where pictures are shown for long.
// Short GOPs are merged until seven tenths of the unit length. The first unit is short, so that
// the first byte is early. With unit_seconds = 0 each random access point starts a unit and nothing
// is merged or split (the form in which the sources of the schedulers count GOPs) unless it is
// longer than kLongestGopSeconds. So no unit is longer than three unit lengths, or
// 2 * kFewestDivided pictures where those are fewer, or two such GOPs,
// whatever the times say: a worker is not taken away from its unit.
//
// A live source with open cuts (or such as filters make open) says itself where it is cut, each
// kOpenRunSeconds or so, so that all streams that read it begin a run at the same packets, whatever
// their frame rates and GOPs, and may share a decoder (UnitSpec::cut_by_all). A GOP of the output
// ends there, too.
//
// With gop_seconds units are pieces of GOPs (UnitSpec::gop_offset): each ends where the grid is
// divided by their length, so that those of several readers meet, and a GOP ends at a closed random
// access from seven tenths of its length on, or at its length.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "media/bit_spread.h"
#include "media/held_bytes.h"
#include "media/plan.h"
#include "media/random_access.h"

namespace gopmill {

inline constexpr int kFewestDivided = 12;  // pictures of a unit that is: each brings a key frame
inline constexpr double kLongestGopSeconds = 60;  // of a unit that is one GOP
// Longest run before an open cut is taken; of a live source twice that, where it names no place.
inline constexpr double kOpenRunSeconds = 8.0;
// For the sake of filters, at a closed GOP of a file, it is taken as soon as the run has so many
// times the packets of its preroll.
inline constexpr std::int64_t kCheapPreroll = 10;
inline constexpr double kFirstUnitSeconds = 0.5;  // length of the first unit
// Of a live source, unless asked for otherwise: a unit; with low delay a GOP, and a piece of it.
inline constexpr double kLiveUnitSeconds = 0.5, kLiveGopSeconds = 1.0;
inline constexpr double kLivePieceSeconds = 1.0 / 15;
// Packets that must lie behind a split before its unit is emitted: more than any decoder holds back
// for reordering (16 frames in H.264 and HEVC).
inline constexpr int kReorderSlack = 20;

// A GOP that takes more bytes than this, compressed and with kPacketOverhead, is not kept for
// preroll: an open cut behind it is not taken.
inline constexpr std::int64_t kMaxPrerollBytes = 32 << 20;

// What the planner needs to know of a packet. Times in source ticks after repair.
struct PacketMeta {
  SourceTicks pts = 0;
  SourceTicks duration = 0;  // 0 = unknown: one nominal frame is assumed
  std::int64_t bytes = 0;
  RandomAccess access = RandomAccess::kNone;
  bool hidden = false;     // no frame shows it, others may be predicted from it (av::IsHidden)
  bool after_gap = false;  // a live source broke off before it: a unit begins here if one can
  bool cut_here = false;   // of a live source: a run begins here if one can, in all its streams
};

struct PlannerOptions {
  double unit_seconds = kDefaultUnitSeconds;  // 0 = one source GOP per unit
  Rational source_fps = {};                   // nominal, for packets without a duration
  Rational source_time_base = {};
  std::int64_t bitrate = 0;  // video target, bits per second; 0 = not by bit rate
  // A live source is split as soon as a unit is full, not when it is certain that another one
  // follows: waiting would be delay.
  bool live = false;
  // Pictures that are shown before its key picture may come behind it in a closed GOP, too (RADL
  // pictures of HEVC, closed_gop of MPEG-2). Not looked for in live sources: it would be delay.
  bool closed_may_lead = false;
  int reorder_delay = 0;          // pictures that the source's decoder holds back; live only
  int temporal_context = 0;       // StreamPlan::temporal_context
  double gop_seconds = 0;         // > 0: units are pieces of GOPs of this length; live only
  std::int64_t frame_limit = -1;  // last output frame + 1 of the request; -1 = to the end
};

// What of the options another coding of the source changes.
struct PlannedCoding {
  Rational fps = {};
  int reorder_delay = 0, temporal_context = 0;
};

class UnitPlanner {
 public:
  UnitPlanner(const OutputGrid& grid, const PlannerOptions& options);

  // Frames that a unit may have which is to have `frames`: nothing is divided up to here.
  static std::int64_t LongestOf(double frames);

  // Before the first packet: budgets of units that have been measured, in place of those by the
  // source's bytes.
  void SetBudgets(UnitBudgets budgets) { budgets_ = std::move(budgets); }

  // The packets from the next one on, which is shown at `pts`, are coded in another way, and a
  // decoder of their own begins with them, on the same clock. Appends the units up to there.
  void ChangeCoding(const PlannedCoding& source, SourceTicks pts, std::vector<UnitSpec>& out);
  // Takes the next packet in decode order; appends the units that are now certain.
  void Push(const PacketMeta& packet, std::vector<UnitSpec>& out);
  // The source has ended: appends what is left.
  void Finish(std::vector<UnitSpec>& out);

  // True once the frame limit is reached: no more video packets are needed.
  [[nodiscard]] bool done() const { return done_; }
  // Packets before this number will not be asked for by any later unit.
  [[nodiscard]] std::int64_t oldest_needed() const;

 private:
  struct Pending {  // an open cut waiting for its leading pictures to pass
    SourceTicks pts;
    std::int64_t frame, preroll_packet;
    bool by_all = false;
    bool afresh = false;      // decoding begins at the key picture itself
    bool closed = false;      // and so it would if it had no leading pictures
    std::int64_t behind = 0;  // packets seen that are shown after it
  };
  struct Access {
    std::int64_t packet;
    // From here on its pictures are exact: its own pts, or that of the next one if it is open,
    // where a decoder may need a GOP to recover.
    std::optional<SourceTicks> exact;
    std::int64_t pictures = 0;  // exact ones seen so far
  };
  struct Seen {
    SourceTicks pts;
    std::int64_t bytes;
  };
  void NoteDecoding(const PacketMeta& packet, std::int64_t number);
  void TakeCoding(const PlannedCoding& source);
  void OnRandomAccess(const PacketMeta& packet, std::int64_t number, std::vector<UnitSpec>& out);
  void SplitIfLong(std::vector<UnitSpec>& out);
  void DivideIfLong(std::int64_t end_frame, std::int64_t end_packet, std::vector<UnitSpec>& out);
  void ResolvePending(std::int64_t end_packet, std::vector<UnitSpec>& out);
  void Emit(std::int64_t end_frame, std::int64_t end_packet, bool ends_run,
            std::vector<UnitSpec>& out);
  void StartUnit(std::int64_t frame, std::int64_t packet, CutKind cut,
                 std::optional<SourceTicks> by_all = std::nullopt);
  [[nodiscard]] std::int64_t SeenBehind(SourceTicks pts);  // packets that are shown later
  void NoteReordering(const PacketMeta& packet);
  void NoteAccess(const PacketMeta& packet, std::int64_t number);
  [[nodiscard]] bool RunIsLong(const PacketMeta& packet, std::int64_t number,
                               std::int64_t frame) const;
  [[nodiscard]] bool Cheap(const PacketMeta& packet, std::int64_t number) const;
  [[nodiscard]] std::int64_t Held() const;            // by the decoder of a live source, pictures
  [[nodiscard]] std::int64_t PicturesBehind() const;  // that an open cut waits for
  // Where a cut at the packet that comes is to be decoded from; none if that is gone.
  [[nodiscard]] std::optional<std::int64_t> PrerollPacket() const;
  void BeginGop(std::int64_t frame);
  [[nodiscard]] std::int64_t GopEnd() const {  // at the latest
    return gop_frame_ + Frames(options_.gop_seconds);
  }
  [[nodiscard]] bool in_pieces() const { return options_.gop_seconds > 0; }
  std::int64_t Budget(const UnitSpec& unit);
  void GiveBudget(UnitSpec& unit);
  [[nodiscard]] std::int64_t Frames(double seconds) const;
  [[nodiscard]] std::int64_t Longest() const;  // unit, in frames

  const OutputGrid grid_;
  const PlannerOptions options_;
  PlannedCoding source_;  // of the packets that come now
  UnitBudgets budgets_;
  SourceTicks nominal_duration_ = 1;

  std::int64_t packets_ = 0;  // seen so far
  std::int64_t next_index_ = 0;
  std::int64_t unit_frame_ = 0;   // first frame of the unit being collected
  std::int64_t unit_packet_ = 0;  // first packet of it
  CutKind unit_cut_ = CutKind::kClosed;
  std::optional<SourceTicks> unit_cut_by_all_;
  std::int64_t gop_frame_ = 0, gop_frames_ = 0;  // of the GOP it belongs to: first; as expected
  std::int64_t run_frame_ = 0, run_packet_ = 0;  // of the run: first frame; its packet
  struct Sync {                                  // where a decoder may begin
    std::int64_t frame, packet;
  };
  std::int64_t sync_packet_ = 0;  // the latest before the unit being collected
  std::deque<Sync> syncs_;        // later ones
  std::deque<Access> accesses_;   // the latest ones, as many as a cut may need for its preroll
  std::int64_t bytes_since_access_ = 0;  // with kPacketOverhead
  std::optional<Pending> pending_;
  std::vector<Seen> seen_;  // packets of the unit being collected
  struct Behind {
    SourceTicks pts;
    std::int64_t count;  // of `seen_`, shown later
  };
  std::optional<Behind> behind_;  // SeenBehind's last answer
  // Most pictures that came before one that is shown before them; the same of the GOP before.
  std::int64_t reordered_ = 0, reordered_before_ = 0;
  std::optional<SourceTicks> latest_pts_, latest_end_;
  bool done_ = false;
  // Budget: running totals over the units emitted.
  double total_seconds_ = 0, total_bits_ = 0, planned_bits_ = 0;
};

}  // namespace gopmill
