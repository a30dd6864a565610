// SPDX-License-Identifier: Apache-2.0
//
// Packet sequences of any kind through the repair of times and the planner. Units must follow each
// other without a gap, ask for packets that are still there only and of one coding, and the number
// of output frames must be bounded by the number of packets, and those of a unit by its length,
// whatever the times say.
#include <algorithm>
#include <vector>

#include "media/timestamp_repair.h"
#include "media/unit_planner.h"
#include "tests/fuzz/bytes.h"

namespace {

using namespace gopmill;
using fuzz::Bytes;
using fuzz::Require;

constexpr std::size_t kMaxPackets = 4000;
constexpr auto kAccesses = static_cast<std::int64_t>(RandomAccess::kClosed) + 1;
constexpr std::int64_t kMostContext = 5;  // pictures, of fields and the strongest filter

constexpr Rational kRates[] = {{25, 1}, {30'000, 1001}, {1, 1}, {120, 1}, {60, 1}};
constexpr double kLongestPicture = 1;  // seconds, of these

struct Setting {
  Rational time_base, source_fps, fps;
  PlannerOptions options;
};

Setting ReadSetting(Bytes& in) {
  constexpr Rational kBases[] = {{1, 90'000}, {1, 1000}, {1, 12'800}, {1, 25}, {1001, 30'000}};
  constexpr double kSeconds[] = {2, 0, 0.2, 1, 30};
  Setting setting{kBases[in.Below(5)], kRates[in.Below(5)], kRates[in.Below(5)], {}};
  const double seconds = kSeconds[in.Below(5)];
  // None, that of fields (1), and those of filters in time.
  const std::int64_t kind = in.Below(2 * (kMostContext + 1));
  setting.options = {.unit_seconds = seconds,
                     .source_fps = setting.source_fps,
                     .source_time_base = setting.time_base,
                     .bitrate = kind % 2 * 500'000,
                     .live = in.Below(4) == 1,
                     .closed_may_lead = in.Below(2) == 1,
                     .reorder_delay = static_cast<int>(in.Below(5)),
                     .temporal_context = static_cast<int>(kind / 2)};
  if (setting.options.live && in.Below(2) == 1) {
    setting.options.gop_seconds = std::max(0.2, setting.options.unit_seconds);
    setting.options.unit_seconds = kLivePieceSeconds;
  }
  if (in.Below(4) == 1) setting.options.frame_limit = 1 + in.Below(500);
  return setting;
}

// What holds of all units so far.
class Follower {
 public:
  explicit Follower(const Setting& setting)
      : setting_(setting), context_(setting.options.temporal_context) {}

  void Take(const std::vector<UnitSpec>& units, std::int64_t pushed) {
    for (const UnitSpec& unit : units) {
      Require(unit.index.value == count_++);
      Require(unit.first_frame == end_ && unit.end_frame > unit.first_frame);
      Require((unit.cut == CutKind::kChained) == !run_ended_);
      Require(unit.first_packet <= unit.end_packet && unit.end_packet <= pushed);
      if (unit.cut != CutKind::kChained) Require(unit.first_packet >= oldest_);
      Require(unit.first_packet >= coding_packet_);
      Require(setting_.options.live || !unit.cut_by_all);
      CheckContext(unit, pushed);
      if (setting_.options.bitrate > 0) Require(unit.budget_bps > 0);
      Require(static_cast<double>(unit.frame_count()) <= MostFrames());
      if (setting_.options.frame_limit >= 0) {
        Require(unit.end_frame <= setting_.options.frame_limit);
      }
      TakeGop(unit);
      end_ = unit.end_frame;
      run_ended_ = unit.ends_run;
    }
  }
  // Filters that look at neighbours get as many from before a cut, or all that there are.
  void CheckContext(const UnitSpec& unit, std::int64_t pushed) const {
    const bool all = unit.first_packet == coding_packet_;  // a decoder of its own begins there
    if (context_ > 0 && unit.cut == CutKind::kClosed) Require(all || unit.index.value == 0);
    if (unit.cut != CutKind::kPreroll || unit.first_packet == 0) return;
    Require(pushed - unit.first_packet > context_);
  }
  // The packets from `pushed` on are coded in another way; nothing of before is left.
  void ChangeCoding(const PlannedCoding& source, std::int64_t pushed) {
    Require(run_ended());
    context_ = source.temporal_context;
    coding_packet_ = pushed;
  }
  // Pieces of one GOP follow each other, and it is no longer than it shall be.
  void TakeGop(const UnitSpec& unit) {
    Require(unit.begins_gop() == gop_ended_);
    if (gop_ended_) gop_frame_ = unit.first_frame;
    Require(unit.gop_frame() == gop_frame_);
    gop_ended_ = unit.ends_gop;
    Require(unit.ends_gop || !unit.ends_run);
    const double gop = setting_.options.gop_seconds;
    if (gop <= 0) return Require(unit.ends_gop);
    const double most = (gop + kLivePieceSeconds) * setting_.fps.ToDouble() + 2;
    Require(static_cast<double>(unit.end_frame - gop_frame_) <= most);
  }
  void Forget(std::int64_t oldest) {
    Require(oldest >= oldest_);
    oldest_ = oldest;
  }
  [[nodiscard]] double MostFrames() const {
    const double unit = setting_.options.unit_seconds;
    const double longest =
        unit > 0 ? std::max(3 * unit, kFirstUnitSeconds) : 2 * kLongestGopSeconds;
    return std::max(longest * setting_.fps.ToDouble() + 3, 2.0 * kFewestDivided + 3);
  }
  [[nodiscard]] std::int64_t end() const { return end_; }
  [[nodiscard]] bool run_ended() const { return run_ended_ && gop_ended_; }

 private:
  const Setting& setting_;
  int context_;                     // of the coding that is planned now
  std::int64_t coding_packet_ = 0;  // its first
  std::int64_t count_ = 0, end_ = 0, oldest_ = 0;
  bool run_ended_ = true, gop_ended_ = true;
  std::int64_t gop_frame_ = 0;
};

void ReadTimes(Bytes& in, AVPacket& packet, std::int64_t& clock) {
  const std::uint8_t kind = in.Byte();
  clock += in.Number(1 + kind % 2) - (kind % 16 == 7 ? in.Number(5) : 0);
  packet.dts = kind % 32 == 9 ? AV_NOPTS_VALUE : clock;
  packet.pts = kind % 32 == 11 ? AV_NOPTS_VALUE : clock + in.Number(1);
  if (kind == 200) packet.pts += in.Number(6);
  packet.duration = kind % 3 == 0 ? in.Number(kind == 201 ? 6 : 2) : 0;
}

// What there is beside times: of most packets nothing.
struct Marks {
  explicit Marks(std::uint8_t kind)
      : hidden(kind % 16 == 5),
        after_gap(kind % 16 == 6),
        cut_here(kind % 8 == 7),
        other_coding(kind % 64 == 32) {}
  bool hidden, after_gap, cut_here, other_coding;
};

PlannedCoding ReadCoding(Bytes& in) {
  return {.fps = kRates[in.Below(5)],
          .reorder_delay = static_cast<int>(in.Below(5)),
          .temporal_context = static_cast<int>(in.Below(kMostContext + 1))};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes in(data, size);
  const Setting setting = ReadSetting(in);
  TimestampRepair repair(0, {{.time_base = setting.time_base,
                              .reorders = in.Below(2) == 1,
                              .frame_seconds = 1 / setting.source_fps.ToDouble()}});
  const OutputGrid grid(setting.fps, setting.source_fps, setting.time_base, 0);
  UnitPlanner planner(grid, setting.options);
  Follower follower(setting);
  std::int64_t pushed = 0, clock = 0;
  std::vector<UnitSpec> units;
  while (!in.empty() && pushed < static_cast<std::int64_t>(kMaxPackets) && !planner.done()) {
    const av::Packet packet = av::NewPacket();
    ReadTimes(in, *packet, clock);
    const Marks marks(in.Byte());
    if (marks.hidden) packet->flags |= AV_PKT_FLAG_DISCARD;
    repair.Fix(0, *packet);
    const std::int64_t pts = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
    units.clear();
    if (marks.other_coding) {
      const PlannedCoding coding = ReadCoding(in);
      planner.ChangeCoding(coding, pts, units);
      follower.Take(units, pushed);
      if (planner.done()) break;
      follower.ChangeCoding(coding, pushed);
      units.clear();
    }
    planner.Push({.pts = pts,
                  .duration = packet->duration,
                  .bytes = in.Number(2) << (in.Byte() % 16),
                  .access = static_cast<RandomAccess>(in.Below(kAccesses)),
                  .hidden = marks.hidden,
                  .after_gap = setting.options.live && marks.after_gap,
                  .cut_here = setting.options.live && marks.cut_here},
                 units);
    follower.Take(units, ++pushed);
    follower.Forget(planner.oldest_needed());
  }
  units.clear();
  planner.Finish(units);
  follower.Take(units, pushed);
  Require(follower.run_ended());
  // Each packet may lie ten seconds behind the one before it, and a little out of order.
  const double most = (static_cast<double>(pushed) * 2 + 2) *
                      (kMaxGapSeconds + 1 + kMaxPacketSeconds + kLongestPicture);
  Require(static_cast<double>(follower.end()) <= most * setting.fps.ToDouble() + 2);
  return 0;
}
