// SPDX-License-Identifier: Apache-2.0
//
// What a stream will cost the workers, predicted from what streams like it cost before: CPU time
// per output frame by source codec, size and light, target codec, size and preset, how many source
// pictures are decoded for one, what is filtered and whether text is drawn. A kind that was never
// seen is taken to cost what its pixels cost on average over all that were; before any unit ran,
// kNanosPerPixel. A short unit says little: until half a second of a kind has been seen, the rest
// is what it was taken to cost.
//
// Guarantees: at most kMaxDemandKinds kinds are kept.
// Thread-safety: compatible.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "base/clock.h"
#include "media/plan.h"

namespace gopmill {

inline constexpr std::size_t kMaxDemandKinds = 1024;
// Scaling and encoding a pixel with x264 veryfast on a core of 2020; only until the first unit.
inline constexpr double kNanosPerPixel = 15;
// Decoding a pixel, as a part of encoding one.
inline constexpr double kDecodeWeight = 0.3;

class DemandTable {
 public:
  // Of one output frame, on a worker with warm contexts; without its part of the decoding where
  // another stream does that.
  [[nodiscard]] Duration FrameTime(const StreamPlan& plan, bool decodes = true) const;
  // Of opening decoder, scaler and encoder of such a stream.
  [[nodiscard]] Duration Opening() const { return FromSeconds(opening_ns_ * 1e-9); }

  // A unit of `frames` > 0 output frames took `cpu`, of which `opening` went into contexts. Without
  // what it decoded to reach its first frame: no frame after it costs that.
  void Learn(const StreamPlan& plan, Duration cpu, Duration opening, std::int64_t frames);

 private:
  struct Mean {  // of the newest units
    double value = 0;
    double seen = 0;  // how many, short ones as parts of one
    void Add(double newest, double whole);
  };
  std::map<std::string, Mean> nanos_;  // per frame, by kind
  Mean per_pixel_{.value = kNanosPerPixel};
  double opening_ns_ = 0;
};

}  // namespace gopmill
