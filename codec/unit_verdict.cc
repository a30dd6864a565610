// SPDX-License-Identifier: Apache-2.0
#include "codec/unit_verdict.h"

#include <utility>

namespace gopmill {
namespace {

bool Repeatable(const UnitTask& task) {
  return task.input->spec.cut != CutKind::kChained ||
         (task.run.history && task.run.history->complete);
}

}  // namespace

UnitVerdict::Pass::Pass(const EncoderSpec& spec) {
  if (spec.maxrate > 0) vbv.emplace(spec.maxrate, spec.bufsize, spec.fps);
}

void UnitVerdict::Pass::Add(av::Packet packet) {
  if (vbv) vbv->Add(packet->size);
  bytes += packet->size;
  packets.push_back(std::move(packet));
}

double UnitVerdict::Pass::vbv_factor() const {
  return vbv && !vbv->passes() ? vbv->CorrectionFactor() : 1;
}

UnitVerdict::UnitVerdict(const UnitTask& task, UnitStats& stats, UnitOutput& output)
    : spec_(*task.encoder),
      stats_(stats),
      output_(output),
      rate_(spec_, task.input->spec, Repeatable(task), task.aim),
      pass_(std::in_place, spec_) {}

void UnitVerdict::Add(av::Packet packet) {
  if (misjudged_) return;
  if (rate_.must_be_judged() || on_trial()) return pass_->Add(std::move(packet));
  stats_.bytes += packet->size;
  ++stats_.packets;
  output_.OnPacket(std::move(packet));
}

void UnitVerdict::OnTrial(RateTrial trial, const RateLesson& lesson) {
  if (!on_trial() || trial == RateTrial::kOpen) return;
  rate_.EndTrial();
  misjudged_ = trial == RateTrial::kMisjudged;
  if (misjudged_) {
    rate_.LearnFrom(lesson);
  } else if (!rate_.must_be_judged()) {
    LetGo(*pass_);
  }
}

void UnitVerdict::LetGo(Pass& pass) {
  stats_.bytes += pass.bytes;
  stats_.packets += static_cast<std::int64_t>(pass.packets.size());
  for (av::Packet& packet : pass.packets) output_.OnPacket(std::move(packet));
  pass.packets.clear();
}

// Each pass depends on the results of those before it and on nothing else.
bool UnitVerdict::EndPass() {
  EndTrial();  // the pass may be over before it was decided
  if (!rate_.must_be_judged()) return true;
  const UnitRate::Verdict verdict = rate_.Judge(
      {.bytes = pass_->bytes, .vbv_factor = pass_->vbv_factor(), .crf = stats_.lesson.even_crf});
  if (verdict.keep) best_.emplace(*std::move(pass_));
  stats_.aimed_otherwise = rate_.aimed_otherwise();
  if (verdict.done) return true;
  BeginAgain();
  return false;
}

void UnitVerdict::BeginAgain() {
  misjudged_ = false;
  pass_.emplace(spec_);
  ++stats_.encodes;
}

void UnitVerdict::Release() {
  if (!rate_.must_be_judged()) return;
  stats_.vbv_violated = best_->vbv_factor() < 1;
  LetGo(*best_);
}

}  // namespace gopmill
