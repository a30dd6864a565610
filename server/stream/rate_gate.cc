// SPDX-License-Identifier: Apache-2.0
#include "server/stream/rate_gate.h"

#include <utility>

namespace gopmill {

void RateGate::OnPlanned(const UnitSpec& unit) {
  if (rate_) rate_->OnPlanned(unit);
}

void RateGate::OnEnded(UnitIndex unit, const UnitStats& stats) {
  if (rate_) rate_->OnEnded(unit, stats);
}

std::optional<RateGate::Waiting> RateGate::Pass(Waiting unit) {
  const UnitIndex index = unit.unit->spec.index;
  if (!rate_ || rate_->Knows(index)) return unit;
  waiting_.emplace(index, std::move(unit));
  return std::nullopt;
}

std::optional<RateGate::Waiting> RateGate::Next() {
  const auto first = waiting_.begin();
  if (first == waiting_.end() || !rate_->Knows(first->first)) return std::nullopt;
  Waiting unit = std::move(first->second);
  waiting_.erase(first);
  return unit;
}

std::optional<RateAim> RateGate::AimOf(UnitIndex unit) {
  if (!rate_) return std::nullopt;
  return rate_->AimOf(unit);
}

}  // namespace gopmill
