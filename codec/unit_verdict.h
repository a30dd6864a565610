// SPDX-License-Identifier: Apache-2.0
//
// What becomes of the packets of a unit's passes: they go straight out, or wait until their pass
// has been judged (unit_rate.h), and those of the best pass go out.
//
// Thread-safety: compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codec/unit_rate.h"
#include "codec/unit_transcoder.h"
#include "codec/vbv.h"

namespace gopmill {

class UnitVerdict {
 public:
  // All are borrowed. Writes encodes, aimed_otherwise, bytes, packets and vbv_violated of `stats`.
  UnitVerdict(const UnitTask& task, UnitStats& stats, UnitOutput& output);

  // Of the pass that runs or comes next.
  [[nodiscard]] PassRate rate() const { return rate_.next(); }
  void Add(av::Packet packet);
  // Whether the pass that runs is on trial, and then what has become of it.
  [[nodiscard]] bool on_trial() const { return rate_.on_trial(); }
  void OnTrial(RateTrial trial, const RateLesson& lesson);
  void EndTrial() { OnTrial(RateTrial::kGood, {}); }
  // The pass goes nowhere: its frames are to be encoded again, after BeginAgain.
  [[nodiscard]] bool misjudged() const { return misjudged_; }
  void BeginAgain();
  // Whether they may have to be, without being decoded again.
  [[nodiscard]] bool may_need_frames() const { return on_trial() || rate_.is_short(); }
  // A pass is over; false = another one is needed, and begins.
  bool EndPass();
  // When no more pass is needed: gives out what has been held back.
  void Release();

 private:
  struct Pass {
    explicit Pass(const EncoderSpec& spec);
    void Add(av::Packet packet);
    [[nodiscard]] double vbv_factor() const;

    std::optional<VbvModel> vbv;
    std::int64_t bytes = 0;
    std::vector<av::Packet> packets;
  };

  void LetGo(Pass& pass);

  const EncoderSpec& spec_;
  UnitStats& stats_;
  UnitOutput& output_;
  UnitRate rate_;
  bool misjudged_ = false;
  std::optional<Pass> pass_, best_;  // the one that runs; the best so far
};

}  // namespace gopmill
