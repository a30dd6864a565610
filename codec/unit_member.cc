// SPDX-License-Identifier: Apache-2.0
#include "codec/unit_member.h"

#include <algorithm>
#include <utility>

namespace gopmill {

UnitMember::UnitMember(UnitRendition& wanted, ContextCache& cache)
    : rendition(wanted), verdict(wanted.task, stats, *wanted.output), cache_(cache) {}

bool UnitMember::goes_on() {
  if (!rendition.stop.stop_requested()) return !stats.cancelled;
  pass_.reset();
  gop.reset();
  kept_.clear();
  stats.cancelled = true;
  return false;
}

Status UnitMember::BeginPass(bool again) {
  RunState& run = rendition.task.run;
  skip_ = again ? run.gop_packets : 0;
  if (again) run.gop.reset();
  pass_.emplace(rendition.task, cache_, stats, *rendition.output);
  return pass_->Open(verdict.rate(), std::move(run.gop));
}

void UnitMember::Add(av::Packet packet) {
  if (skip_ > 0) {
    --skip_;
    return;
  }
  verdict.Add(std::move(packet));
  if (verdict.on_trial()) verdict.OnTrial(pass_->trial(), pass_->lesson());
}

// Frames that another pass begins with: all of a short unit, or at least those that a trial takes
// to be decided, behind those that the encoder holds back.
std::int64_t UnitMember::FewestNeeded() const {
  if (!verdict.on_trial()) return spec().frame_count();
  return FramesAhead(*rendition.task.encoder, spec().frame_count()) + kTrialFrames;
}

// As long as there may be another pass, and there is room for what that needs.
void UnitMember::Keep(const AVFrame& frame) {
  const std::size_t bytes = UnitPass::FrameBytes(*rendition.task.encoder);
  const std::size_t most = std::max(kept_.size() + 1, static_cast<std::size_t>(FewestNeeded()));
  const std::size_t room = IsLarge(*rendition.task.encoder) ? kMaxKeptOfLarge : kMaxKeptBytes;
  if (verdict.may_need_frames() && most * bytes <= room) {
    kept_.push_back(av::Ref(frame));
    return;
  }
  kept_.clear();
  verdict.EndTrial();
}

Status UnitMember::Encode(const AVFrame& frame) {
  Keep(frame);
  GOPMILL_RETURN_IF_ERROR(pass_->Encode(frame, add_));
  if (!verdict.misjudged()) return OkStatus();
  verdict.BeginAgain();
  return EncodeAgain();
}

// The verdict has begun another pass.
Status UnitMember::EncodeAgain() {
  GOPMILL_RETURN_IF_ERROR(pass_->BeginAgain(verdict.rate()));
  for (const av::Frame& frame : kept_) {
    GOPMILL_RETURN_IF_ERROR(pass_->Encode(*frame, add_));
  }
  return OkStatus();
}

Status UnitMember::Finish() {
  GOPMILL_RETURN_IF_ERROR(pass_->Finish(add_));
  while (verdict.misjudged() || HasAll()) {
    if (verdict.misjudged()) {
      verdict.BeginAgain();
    } else if (verdict.EndPass()) {
      concluded_ = true;
      break;
    }
    GOPMILL_RETURN_IF_ERROR(EncodeAgain());
    GOPMILL_RETURN_IF_ERROR(pass_->Finish(add_));
  }
  return OkStatus();
}

Status UnitMember::EndPass() {
  if (spec().ends_gop) {
    GOPMILL_RETURN_IF_ERROR(Finish());
  } else {
    gop = pass_->Leave();
  }
  pass_.reset();
  kept_.clear();
  return OkStatus();
}

}  // namespace gopmill
