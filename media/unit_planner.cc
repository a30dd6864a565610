// SPDX-License-Identifier: Apache-2.0
#include "media/unit_planner.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gopmill {
namespace {

// Part of the unit length from which on a random access point ends a unit. Below three quarters, so
// that a GOP of one unit length whose start went into the short first unit still ends one.
constexpr double kShortest = 0.7;
// Part of the unit length beyond which the rest of a run becomes two units.
constexpr double kLongest = 1.4;
// How strongly a unit's share of the bits follows its share of the source's bytes: sub-linear,
// since the source's encoder already spent more where it was hard.
constexpr double kComplexityExponent = 0.4;
constexpr double kMinWeight = 0.7, kMaxWeight = 1.5;
// Part of the planned surplus or deficit so far that the next unit makes up for.
constexpr double kCarry = 0.5;
// Part of a picture's length behind a key picture from which on a packet is another picture. Half a
// length behind it lies its second field, where each field is a packet (H.264 in MPEG-TS).
constexpr std::int64_t kPictureNum = 3, kPictureDen = 4;

}  // namespace

UnitPlanner::UnitPlanner(const OutputGrid& grid, const PlannerOptions& options)
    : grid_(grid), options_(options) {
  TakeCoding({.fps = options_.source_fps,
              .reorder_delay = options_.reorder_delay,
              .temporal_context = options_.temporal_context});
  gop_frames_ = Frames(options_.gop_seconds);
}

void UnitPlanner::TakeCoding(const PlannedCoding& source) {
  source_ = source;
  if (!source_.fps.positive()) return;
  nominal_duration_ =
      std::max<SourceTicks>(1, Rescale(1, source_.fps.Inverse(), options_.source_time_base));
}

std::int64_t UnitPlanner::Frames(double seconds) const {
  return std::max<std::int64_t>(1, std::llround(seconds * grid_.fps().ToDouble()));
}

std::int64_t UnitPlanner::LongestOf(double frames) {
  return std::max<std::int64_t>(std::llround(kLongest * frames), kFewestDivided);
}

std::int64_t UnitPlanner::Longest() const {
  if (options_.unit_seconds > 0) return LongestOf(options_.unit_seconds * grid_.fps().ToDouble());
  return std::max<std::int64_t>(Frames(kLongestGopSeconds), kFewestDivided);
}

std::int64_t UnitPlanner::oldest_needed() const {
  if (pending_) return std::min(unit_packet_, pending_->preroll_packet);
  if (bytes_since_access_ > kMaxPrerollBytes) return unit_packet_;
  if (accesses_.empty()) return unit_packet_;
  return std::min(unit_packet_, accesses_.front().packet);
}

// The pictures before it are shown until then. A run that has begun gets one more frame at least:
// it has to end somewhere, and the planner never cuts behind its last one.
void UnitPlanner::ChangeCoding(const PlannedCoding& source, SourceTicks pts,
                               std::vector<UnitSpec>& out) {
  if (done_) return;
  if (pending_) ResolvePending(packets_, out);
  const std::int64_t least = unit_frame_ + (unit_cut_ == CutKind::kChained ? 1 : 0);
  const std::int64_t end = std::max(grid_.FirstFrameShowing(pts), least);
  DivideIfLong(end, packets_, out);
  if (!done_) Emit(end, packets_, true, out);
  if (done_) return;
  StartUnit(std::max(end, unit_frame_), packets_, CutKind::kClosed);
  TakeCoding(source);
  seen_.clear();
  behind_.reset();
  accesses_.clear();
  bytes_since_access_ = 0;
  reordered_ = reordered_before_ = 0;
  latest_pts_.reset();
  latest_end_.reset();
}

void UnitPlanner::Push(const PacketMeta& packet, std::vector<UnitSpec>& out) {
  if (done_) return;
  const std::int64_t number = packets_++;
  // Nothing is cut at what is not shown, but decoding may begin there.
  if (packet.hidden) return NoteDecoding(packet, number);
  // The first packet that is shown after an open key picture ends that picture's leading ones.
  // Filters in time need some of those behind it as well.
  const bool behind =
      pending_ && kPictureDen * (packet.pts - pending_->pts) >= kPictureNum * nominal_duration_;
  if (behind && ++pending_->behind >= PicturesBehind()) ResolvePending(number, out);
  if (packet.access != RandomAccess::kNone) OnRandomAccess(packet, number, out);
  NoteDecoding(packet, number);
  if (options_.live) NoteReordering(packet);
  seen_.push_back({packet.pts, packet.bytes});
  if (behind_ && packet.pts > behind_->pts) ++behind_->count;
  latest_pts_ = std::max(latest_pts_.value_or(packet.pts), packet.pts);
  const SourceTicks end = packet.pts + (packet.duration > 0 ? packet.duration : nominal_duration_);
  latest_end_ = std::max(latest_end_.value_or(end), end);
  if (options_.unit_seconds > 0 && !pending_) SplitIfLong(out);
}

// What has to be decoded for a cut behind it.
void UnitPlanner::NoteDecoding(const PacketMeta& packet, std::int64_t number) {
  if (packet.access != RandomAccess::kNone) {
    if (bytes_since_access_ > kMaxPrerollBytes) accesses_.clear();
    bytes_since_access_ = 0;
  }
  bytes_since_access_ += HeldBytes(packet.bytes, 1);
  NoteAccess(packet, number);
}

// Forgotten after two GOPs, in case that it was a disorder of the source's. Of a unit that is very
// long the latest pictures tell as much as all do.
void UnitPlanner::NoteReordering(const PacketMeta& packet) {
  constexpr std::int64_t kMost = 16;  // H.264 and HEVC
  constexpr std::ptrdiff_t kLookedAt = 256;
  if (packet.access == RandomAccess::kClosed) reordered_before_ = std::exchange(reordered_, 0);
  const auto later = [&](const Seen& s) { return s.pts > packet.pts; };
  const auto latest = seen_.end() - std::min(std::ssize(seen_), kLookedAt);
  const auto found = std::count_if(latest, seen_.end(), later);
  reordered_ = std::clamp<std::int64_t>(found, reordered_, kMost);
}

// Of the unit being collected. Counted on as packets come: there may be very many that lie before
// one that is far ahead.
std::int64_t UnitPlanner::SeenBehind(SourceTicks pts) {
  const auto later = [pts](const Seen& s) { return s.pts > pts; };
  if (!behind_ || behind_->pts != pts) behind_ = {pts, std::ranges::count_if(seen_, later)};
  return behind_->count;
}

// A cut is made from the latest one with an exact picture, or as many as filters look at: so
// nothing before that one is kept. Nor is what has so many others behind it, none of which has its
// pictures: times that fall never bring them.
void UnitPlanner::NoteAccess(const PacketMeta& packet, std::int64_t number) {
  constexpr std::size_t kMost = 256;
  const int context = source_.temporal_context;
  if (packet.access != RandomAccess::kNone || accesses_.empty()) {
    if (!accesses_.empty() && !accesses_.back().exact) accesses_.back().exact = packet.pts;
    Access access{.packet = number, .exact = packet.pts};
    if (packet.access == RandomAccess::kRecovery) access.exact.reset();
    accesses_.push_back(access);
    if (accesses_.size() > kMost) accesses_.pop_front();
  }
  const std::int64_t enough = std::max(context, 1);
  std::ptrdiff_t latest = 0;
  for (auto at = accesses_.begin(); at != accesses_.end(); ++at) {
    if (!packet.hidden && at->exact && packet.pts >= *at->exact) ++at->pictures;
    if (at->pictures >= enough) latest = at - accesses_.begin();
  }
  accesses_.erase(accesses_.begin(), accesses_.begin() + latest);
}

// The source's first packets need no more pictures than there are.
std::optional<std::int64_t> UnitPlanner::PrerollPacket() const {
  if (accesses_.empty()) return std::nullopt;
  const Access& latest = accesses_.front();
  if (latest.packet > 0 && latest.pictures < source_.temporal_context) return std::nullopt;
  return latest.packet;
}

std::int64_t UnitPlanner::Held() const {
  const int context = source_.temporal_context;
  return std::max({std::int64_t{source_.reorder_delay}, reordered_, reordered_before_}) + context +
         (context > 1 ? 1 : 0);  // atadenoise answers a picture later than it has to
}

// Of a live source, that is only where the access that all streams are cut at could not be used.
bool UnitPlanner::RunIsLong(const PacketMeta& packet, std::int64_t number,
                            std::int64_t frame) const {
  const double longest = options_.live ? 2 * kOpenRunSeconds : kOpenRunSeconds;
  return frame - run_frame_ >= Frames(longest) || (!options_.live && Cheap(packet, number));
}

bool UnitPlanner::Cheap(const PacketMeta& packet, std::int64_t number) const {
  const auto preroll = PrerollPacket();
  return packet.access == RandomAccess::kClosed && preroll &&
         kCheapPreroll * (number - *preroll) <= number - run_packet_;
}

// The first one ends the leading pictures. For more, all but the last few of them may come later
// than pictures that are shown after them.
std::int64_t UnitPlanner::PicturesBehind() const {
  if (source_.temporal_context <= 1) return 1;
  return options_.live ? Held() : kReorderSlack + source_.temporal_context;
}

void UnitPlanner::OnRandomAccess(const PacketMeta& packet, std::int64_t number,
                                 std::vector<UnitSpec>& out) {
  const std::int64_t frame = grid_.FirstFrameShowing(packet.pts);
  const bool closed = packet.access == RandomAccess::kClosed && source_.temporal_context == 0;
  const bool by_all = packet.cut_here && !closed;
  if (closed && options_.live) syncs_.push_back({frame, number});
  if (frame <= unit_frame_) {
    // Still before the first frame asked for (a seek landed early): start later, decode less. Not
    // where later pictures have been seen, of a source that has its beginning twice.
    const bool goes_back = latest_pts_ && packet.pts < *latest_pts_;
    const bool shows_first = packet.pts <= grid_.LatestPts(unit_frame_) && !goes_back;
    if (next_index_ > 0 || !shows_first || packet.access != RandomAccess::kClosed) return;
    unit_packet_ = closed ? number : PrerollPacket().value_or(unit_packet_);
    sync_packet_ = unit_packet_;
    return;
  }
  const bool by_gop = options_.unit_seconds <= 0;
  double wanted = options_.unit_seconds * kShortest;
  if (next_index_ == 0) wanted = kFirstUnitSeconds / 2;
  if (in_pieces()) wanted = options_.gop_seconds * kShortest;
  const bool now = by_gop || packet.after_gap || by_all;
  if (!now && frame - gop_frame_ < Frames(wanted)) return;
  if (closed) {
    if (pending_) ResolvePending(number, out);
    if (frame <= unit_frame_) return;
    if (options_.closed_may_lead && !options_.live) {
      pending_ = Pending{.pts = packet.pts,
                         .frame = frame,
                         .preroll_packet = number,
                         .afresh = true,
                         .closed = true};
      return;
    }
    DivideIfLong(frame, number, out);
    Emit(frame, number, true, out);
    if (!done_ && !out.empty()) out.back().end_pts = packet.pts;
    StartUnit(frame, number, CutKind::kClosed);
  } else if (bytes_since_access_ > kMaxPrerollBytes) {
    return;  // what it would have to be decoded from is gone: the run goes on
  } else if (by_gop || by_all || RunIsLong(packet, number, frame)) {
    auto preroll = PrerollPacket();
    // Live streams that share a decoder begin at the same packet, whatever their filters.
    const bool exact = packet.access == RandomAccess::kOpenGop && !options_.live;
    const bool afresh = exact && source_.temporal_context == 0;
    if (afresh) preroll = number;
    if (!pending_ && preroll) {
      pending_ = Pending{.pts = packet.pts,
                         .frame = frame,
                         .preroll_packet = *preroll,
                         .by_all = by_all && !by_gop,
                         .afresh = afresh};
    }
  }
}

void UnitPlanner::ResolvePending(std::int64_t end_packet, std::vector<UnitSpec>& out) {
  const Pending pending = *pending_;
  pending_.reset();
  if (pending.closed && end_packet == pending.preroll_packet + 1) --end_packet;  // none has led
  // Only for pictures that are shown for long: others have been split already. A GOP ends in time.
  if (pending.closed || in_pieces() || pending.frame - unit_frame_ > 2 * Longest()) {
    DivideIfLong(pending.frame, end_packet, out);
  }
  Emit(pending.frame, end_packet, true, out);
  if (pending.afresh && !done_ && !out.empty()) out.back().end_pts = pending.pts;
  StartUnit(pending.frame, pending.preroll_packet,
            pending.closed ? CutKind::kClosed : CutKind::kPreroll,
            pending.by_all ? std::optional(pending.pts) : std::nullopt);
}

// Several at once where pictures come more rarely than units.
void UnitPlanner::SplitIfLong(std::vector<UnitSpec>& out) {
  while (!done_) {
    const bool short_first = next_index_ == 0 && !in_pieces();
    std::int64_t length = Frames(short_first ? kFirstUnitSeconds : options_.unit_seconds);
    if (in_pieces()) {
      length = std::min(length - (grid_.first() + unit_frame_) % length, GopEnd() - unit_frame_);
    }
    const std::int64_t collected = grid_.FirstFrameShowing(*latest_pts_) - unit_frame_;
    if (collected < (options_.live ? 1 : 2) * length) return;
    const std::int64_t cut = unit_frame_ + length;
    // Live: what the decoder holds back, as announced or as seen, and one more: the end of the last
    // picture, and without pieces one for a delay that is neither.
    const SourceTicks latest = grid_.LatestPts(in_pieces() ? cut - 1 : cut);
    const std::int64_t slack =
        options_.live ? Held() + 1 : kReorderSlack + source_.temporal_context;
    if (SeenBehind(latest) < slack) return;
    if (grid_.FrameCount(*latest_end_) <= cut) return;  // it might be the last one
    Emit(cut, packets_, false, out);
    StartUnit(cut, packets_, CutKind::kChained);
  }
}

// What is left of a long GOP may be nearly two units long: two equal ones keep more workers busy to
// the end. And where a picture is shown for long it may be any number of them. All packets go to
// the first; the others come on with the decoder. Parts of a live unit are equal, so it is divided
// into whole ones and a rest. A piece of a GOP ends with it, or a piece later: the frame rates of
// source and output may not meet where the source's GOP ends.
void UnitPlanner::DivideIfLong(std::int64_t end_frame, std::int64_t end_packet,
                               std::vector<UnitSpec>& out) {
  const std::int64_t longest = Longest();
  const std::int64_t whole = options_.unit_seconds > 0 ? Frames(options_.unit_seconds) : longest;
  while (!done_) {
    const std::int64_t frames = end_frame - unit_frame_;
    const std::int64_t most = in_pieces() ? std::min(longest, GopEnd() - unit_frame_) : longest;
    if (frames <= most + (in_pieces() ? whole : 0)) return;
    std::int64_t length = frames / ((frames + longest - 1) / longest);
    if (options_.live) length = in_pieces() ? most : whole;
    const std::int64_t cut = unit_frame_ + length;
    Emit(cut, end_packet, false, out);
    if (!done_) out.back().run_fed = true;
    StartUnit(cut, end_packet, CutKind::kChained);
    // Where a GOP begins with what is left, its end is known.
    if (gop_frame_ == cut) gop_frames_ = std::min(gop_frames_, end_frame - cut);
  }
}

void UnitPlanner::StartUnit(std::int64_t frame, std::int64_t packet, CutKind cut,
                            std::optional<SourceTicks> by_all) {
  unit_frame_ = frame;
  unit_packet_ = packet;
  unit_cut_ = cut;
  unit_cut_by_all_ = by_all;
  if (cut == CutKind::kChained) return;
  run_frame_ = frame;
  run_packet_ = packets_;
  sync_packet_ = packet;
  syncs_.clear();
}

// Without pieces each unit is one. GOPs are expected to be as long as the one before was, but for
// one that a gap cut short.
void UnitPlanner::BeginGop(std::int64_t frame) {
  const std::int64_t most = Frames(options_.gop_seconds);
  const std::int64_t least = Frames(options_.gop_seconds * kShortest);
  gop_frames_ = std::clamp(frame - gop_frame_, least, most);
  gop_frame_ = frame;
}

void UnitPlanner::Emit(std::int64_t end_frame, std::int64_t end_packet, bool ends_run,
                       std::vector<UnitSpec>& out) {
  if (options_.frame_limit >= 0 && end_frame >= options_.frame_limit) {
    end_frame = options_.frame_limit;
    ends_run = true;
    done_ = true;
  }
  if (end_frame <= unit_frame_) return;
  while (!syncs_.empty() && syncs_.front().frame <= unit_frame_) {
    sync_packet_ = syncs_.front().packet;
    syncs_.pop_front();
  }
  UnitSpec unit{.index = UnitIndex{next_index_++},
                .first_frame = unit_frame_,
                .end_frame = end_frame,
                .first_packet = unit_packet_,
                .end_packet = end_packet,
                .cut = unit_cut_,
                .cut_by_all = unit_cut_by_all_,
                .sync_packet = sync_packet_,
                .ends_run = ends_run,
                .gop_offset = unit_frame_ - gop_frame_,
                .gop_frames = in_pieces() ? gop_frames_ : 0};
  unit.ends_gop = !in_pieces() || ends_run || end_frame >= GopEnd();
  if (unit.ends_gop) BeginGop(end_frame);
  const SourceTicks first_of_next = grid_.LatestPts(end_frame - 1);
  for (const Seen& s : seen_) {
    if (s.pts <= first_of_next) unit.source_bytes += s.bytes;
  }
  std::erase_if(seen_, [&](const Seen& s) { return s.pts <= first_of_next; });
  behind_.reset();
  GiveBudget(unit);
  out.push_back(unit);
}

void UnitPlanner::GiveBudget(UnitSpec& unit) {
  const UnitBudget* measured = budgets_.Find(unit.first_frame, unit.end_frame);
  if (measured == nullptr) {
    unit.budget_bps = Budget(unit);
    return;
  }
  unit.budget_bps = measured->bps;
  unit.measured_bits = measured->measured_bits;
  unit.measured_crf = budgets_.crf();
  unit.measured_step = measured->measured_step;
}

std::int64_t UnitPlanner::Budget(const UnitSpec& unit) {
  if (options_.bitrate <= 0) return 0;
  // What is to come of a GOP is not known when its encoder is told its rate.
  if (in_pieces()) return options_.bitrate;
  const double seconds = static_cast<double>(unit.frame_count()) / grid_.fps().ToDouble();
  const double bits = 8.0 * static_cast<double>(unit.source_bytes);
  total_seconds_ += seconds;
  total_bits_ += bits;
  const double mean = total_bits_ / total_seconds_;
  const double weight = mean > 0 ? std::clamp(std::pow(bits / seconds / mean, kComplexityExponent),
                                              kMinWeight, kMaxWeight)
                                 : 1.0;
  const double target = static_cast<double>(options_.bitrate);
  const double due = target * total_seconds_ - (planned_bits_ + target * seconds);
  const double planned = std::clamp(target * seconds * weight + kCarry * due,
                                    target * seconds * kMinWeight, target * seconds * kMaxWeight);
  planned_bits_ += planned;
  return std::max<std::int64_t>(1000, std::llround(planned / seconds));
}

void UnitPlanner::Finish(std::vector<UnitSpec>& out) {
  if (done_ || packets_ == 0) return;
  if (pending_) ResolvePending(packets_, out);
  if (done_ || !latest_end_) return;
  std::int64_t total = grid_.FrameCount(*latest_end_);
  // A source of one very short frame still has one output frame.
  if (next_index_ == 0 && *latest_end_ > grid_.origin()) total = std::max<std::int64_t>(total, 1);
  DivideIfLong(total, packets_, out);
  if (!done_) Emit(total, packets_, true, out);
  done_ = true;
}

}  // namespace gopmill
