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
      judged_(UnitRate::MustBeJudged(spec_)),
      rate_(spec_, task.input->spec, Repeatable(task), task.aim),
      pass_(std::in_place, spec_) {}

void UnitVerdict::Add(av::Packet packet) {
  if (judged_) return pass_->Add(std::move(packet));
  stats_.bytes += packet->size;
  ++stats_.packets;
  output_.OnPacket(std::move(packet));
}

// Each pass depends on the results of those before it and on nothing else.
bool UnitVerdict::EndPass() {
  if (!judged_) return true;
  const UnitRate::Verdict verdict = rate_.Judge(pass_->bytes, pass_->vbv_factor());
  if (verdict.keep) best_.emplace(*std::move(pass_));
  if (verdict.done) return true;
  pass_.emplace(spec_);
  ++stats_.encodes;
  stats_.damage.concealed = stats_.damage.patched = 0;
  return false;
}

void UnitVerdict::Release() {
  if (!judged_) return;
  stats_.vbv_violated = best_->vbv_factor() < 1;
  stats_.bytes = best_->bytes;
  stats_.packets = static_cast<std::int64_t>(best_->packets.size());
  for (av::Packet& packet : best_->packets) output_.OnPacket(std::move(packet));
}

}  // namespace gopmill
