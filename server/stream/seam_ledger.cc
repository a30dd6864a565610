// SPDX-License-Identifier: Apache-2.0
#include "server/stream/seam_ledger.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <tuple>
#include <utility>

namespace gopmill {
namespace {

constexpr Rational kMicroseconds{1, 1'000'000};

void Mark(Seam& seam, SeamFault fault, bool faulty) {
  if (faulty) seam.faults |= static_cast<std::uint8_t>(fault);
}

bool Worse(const Seam& a, const Seam& b) {
  const auto key = [](const Seam& s) {
    return std::tuple(s.faults != 0, std::abs(s.pts_gap_us), std::abs(s.audio_gap_samples),
                      -s.vbv_level_bits.value_or(0));
  };
  return key(a) > key(b);
}

}  // namespace

void SeamLog::Add(const Seam& seam) {
  const MutexLock lock(mutex_);
  seams_.push_back(seam);
  if (seams_.size() > kKeptSeams) seams_.pop_front();
  if (!worst_ || Worse(seam, *worst_)) worst_ = seam;
}

std::vector<Seam> SeamLog::Newest() const {
  const MutexLock lock(mutex_);
  return {seams_.begin(), seams_.end()};
}

std::optional<Seam> SeamLog::Worst() const {
  const MutexLock lock(mutex_);
  return worst_;
}

SeamLedger::SeamLedger(const SeamTerms& terms, OnSeam on_seam)
    : terms_(terms), on_seam_(std::move(on_seam)) {
  if (terms.maxrate > 0 && terms.bufsize > 0) {
    vbv_.emplace(terms.maxrate, terms.bufsize, terms.fps);
    totals_.vbv_lowest_bits = vbv_->lowest_bits();
  }
  waiting_.reserve(kMaxPictureReorder + 1);
}

void SeamLedger::OnPlanned(UnitIndex unit, std::int64_t first_frame, std::int64_t end_frame,
                           bool begins_gop) {
  if (begins_gop) {
    units_[unit] = {.first_frame = first_frame, .end_frame = end_frame};
  } else {
    units_.rbegin()->second.end_frame = end_frame;
  }
}

void SeamLedger::OnParameterSets(UnitIndex unit, std::uint64_t hash, Size size) {
  if (const auto behind = units_.upper_bound(unit); behind != units_.begin()) {
    std::prev(behind)->second.hash = hash;
    std::prev(behind)->second.size = size;
  }
}

std::int64_t SeamLedger::TicksOf(std::int64_t frame) const {
  return Rescale(frame, terms_.fps.Inverse(), terms_.video_time_base) + terms_.video_offset;
}

// The first picture of a unit is the first one shown: a key frame without leading pictures.
void SeamLedger::BeginUnit(std::int64_t pts) {
  in_unit_ = true;
  unit_frames_ = 0;
  const auto& [index, unit] = *units_.begin();
  seam_ = {.unit = index,
           .frame = unit.first_frame,
           .frames_planned = totals_.frames_planned,
           .frames_out = totals_.frames_out,
           .pts_gap_us = Rescale(pts - TicksOf(next_frame_), terms_.video_time_base, kMicroseconds),
           .pts_errors = -totals_.pts_errors,
           .parameter_hash = 0,
           .size = {},
           .vbv_level_bits = std::nullopt,
           .vbv_underflows = -totals_.vbv_underflows,
           .audio_samples = totals_.audio_samples,
           .audio_gap_samples = 0,
           .faults = 0};
  if (vbv_) seam_.vbv_level_bits = vbv_->level_bits();
}

// Pictures come in coding order; what was sent early waits for those that are shown before it.
void SeamLedger::NotePts(std::int64_t pts) {
  const std::int64_t frame =
      Rescale(pts - terms_.video_offset, terms_.video_time_base, terms_.fps.Inverse());
  const auto place = std::ranges::lower_bound(waiting_, frame);
  const bool doubled = frame < next_frame_ || (place != waiting_.end() && *place == frame);
  if (doubled || TicksOf(frame) != pts) ++totals_.pts_errors;
  if (doubled) return;
  if (frame == next_frame_ && waiting_.empty()) {
    ++next_frame_;
    return;
  }
  waiting_.insert(place, frame);
  if (waiting_.size() > kMaxPictureReorder) SkipToWaiting();
  const auto* const end = waiting_.data() + waiting_.size();
  const auto* seen = waiting_.data();
  while (seen != end && *seen == next_frame_) {
    ++seen;
    ++next_frame_;
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + (seen - waiting_.data()));
}

// The frames up to the first one that waits are not coming any more: one gap.
void SeamLedger::SkipToWaiting() {
  ++totals_.pts_errors;
  next_frame_ = waiting_.front();
}

void SeamLedger::OnPicture(std::int64_t pts, std::int64_t bytes, bool last_of_unit) {
  if (!in_unit_) BeginUnit(pts);
  NotePts(pts);
  ++unit_frames_;
  ++totals_.frames_out;
  if (vbv_) {
    if (!vbv_->Add(bytes)) ++totals_.vbv_underflows;
    totals_.vbv_lowest_bits = vbv_->lowest_bits();
  }
  if (last_of_unit) EndUnit();
}

void SeamLedger::EndUnit() {
  const Unit unit = units_.begin()->second;
  // All pictures of a unit have been sent: those still missing leave gaps. (Missing ones at its end
  // are a gap at the next join.)
  while (!waiting_.empty()) {
    if (waiting_.front() != next_frame_) SkipToWaiting();
    ++next_frame_;
    waiting_.erase(waiting_.begin());
  }
  const bool counted = unit_frames_ == unit.end_frame - unit.first_frame;
  const bool same_sets = sets_.Note(unit.size, unit.hash);
  const bool same_size = !size_ || *size_ == unit.size;
  totals_.frames_planned += unit.end_frame - unit.first_frame;
  totals_.frame_count_errors += counted ? 0 : 1;
  totals_.parameter_set_changes += same_sets ? 0 : 1;
  totals_.size_changes += same_size ? 0 : 1;
  size_ = unit.size;
  ++totals_.units;
  seam_.pts_errors += totals_.pts_errors;
  seam_.vbv_underflows += totals_.vbv_underflows;
  seam_.parameter_hash = unit.hash;
  seam_.size = unit.size;
  seam_.audio_gap_samples = std::exchange(gap_samples_, 0);
  const bool gaps = std::exchange(gaps_noted_, totals_.audio_gaps) != totals_.audio_gaps;
  Mark(seam_, SeamFault::kFrames, !counted);
  Mark(seam_, SeamFault::kPts, seam_.pts_errors > 0 || seam_.pts_gap_us != 0);
  Mark(seam_, SeamFault::kParameterSets, !same_sets);
  Mark(seam_, SeamFault::kVbv, seam_.vbv_underflows > 0);
  Mark(seam_, SeamFault::kAudio, gaps);
  if (seam_.unit.value > 0) {
    ++totals_.joins;
    totals_.faulty_joins += seam_.faults != 0 ? 1 : 0;
    on_seam_(seam_);
  }
  units_.erase(units_.begin());
  in_unit_ = false;
}

void SeamLedger::OnSound(std::int64_t pts, std::int64_t duration, std::size_t sound) {
  const auto next = next_sample_.try_emplace(sound, pts).first;
  const std::int64_t gap = pts - next->second;
  next->second = pts + duration;
  ++totals_.audio_packets;
  totals_.audio_samples += duration;
  if (gap == 0) return;
  gap_samples_ += gap;
  // A copy keeps the gaps its source has, but may never go back.
  if (terms_.audio_copied && gap > 0) {
    ++totals_.audio_gaps_of_source;
    return;
  }
  ++totals_.audio_gaps;
  (gap > 0 ? totals_.audio_missing_samples : totals_.audio_doubled_samples) += std::abs(gap);
}

}  // namespace gopmill
