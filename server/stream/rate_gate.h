// SPDX-License-Identifier: Apache-2.0
//
// Holds the units of a stream back until it is known how many bits those before them took, as far
// as their own rate depends on that (codec/stream_rate.h).
//
// Thread-safety: compatible; the egress thread's.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "codec/stream_rate.h"
#include "codec/unit_transcoder.h"

namespace gopmill {

class RateGate {
 public:
  // Open for good: each unit has its own budget.
  RateGate() = default;
  explicit RateGate(const EncoderSpec& encoder) : rate_(StreamRate(encoder.fps, encoder.maxrate)) {}

  struct Waiting {
    std::shared_ptr<const UnitInput> unit;
    RunState run;
    TimePoint since;  // for who asks how long it was kept
  };
  void OnPlanned(const UnitSpec& unit);
  void OnEnded(UnitIndex unit, const UnitStats& stats);
  // Gives the unit back if nothing holds it up, and keeps it if something does.
  std::optional<Waiting> Pass(Waiting unit);
  // The next one that was kept and may go.
  std::optional<Waiting> Next();
  // Of a unit that was let through; nothing = its own budget.
  std::optional<RateAim> AimOf(UnitIndex unit);

 private:
  std::optional<StreamRate> rate_;
  std::map<UnitIndex, Waiting> waiting_;
};

}  // namespace gopmill
