// SPDX-License-Identifier: Apache-2.0
//
// What a stream will cost the workers, predicted from what streams like it cost before: CPU time
// per output frame by source codec, size and light, target codec, size and preset, how many source
// pictures are decoded for one, what is filtered and whether text is drawn. Decoding, which is a
// matter of the source alone, counts by itself: of renditions that are made together one has it. A
// kind that was never seen is taken to cost what its pixels cost on average over all that were;
// before any unit ran, kNanosPerPixel. A short unit says little: until half a second of a kind has
// been seen, the rest is what it was taken to cost.
//
// Guarantees: at most kMaxDemandKinds kinds of making and of decoding are kept, those that were
// learned last.
// Thread-safety: compatible.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "media/plan.h"

namespace gopmill {

inline constexpr std::size_t kMaxDemandKinds = 1024;
// Scaling and encoding a pixel with x264 veryfast on a core of 2020; only until the first unit.
inline constexpr double kNanosPerPixel = 15;
// Decoding a pixel, as a part of encoding one; likewise.
inline constexpr double kDecodeWeight = 0.3;

// CPU time that a unit took.
struct UnitCost {
  Duration making{};  // without decoding and opening, except for:
  // how much of its pictures' decoding is in that, where it cannot be told apart; 1 = all.
  double decoding_within = 0;
  // Its pictures, once; nothing if that is not known, as another stream decoded some of them. Not
  // what was decoded to reach the first frame: no frame after it costs that.
  std::optional<Duration> decoding = {};
  Duration opening{};       // of contexts
  Duration own{};           // all that its stream took: of what is decoded for several its part
  std::int64_t frames = 0;  // made, > 0
};

class DemandTable {
 public:
  // Of one output frame, on a worker with warm contexts; without its part of the decoding where
  // another stream does that.
  [[nodiscard]] Duration FrameTime(const StreamPlan& plan, bool decodes = true) const;
  // Of opening decoder, scaler and encoder of such a stream.
  [[nodiscard]] Duration Opening() const { return FromSeconds(opening_ns_ * 1e-9); }

  void Learn(const StreamPlan& plan, const UnitCost& cost);
  // How many are kept, of the things there are more of.
  [[nodiscard]] std::size_t kinds() const { return std::max(making_.size(), decoding_.size()); }

 private:
  struct Mean {  // of the newest units
    double value = 0;
    double seen = 0;  // how many, short ones as parts of one
    void Add(double newest, double whole);
  };
  // Nanoseconds per output frame, of one of the two things a unit does.
  class Costs {
   public:
    explicit Costs(double per_pixel) : per_pixel_{.value = per_pixel} {}
    [[nodiscard]] double Of(const std::string& kind, double pixels) const;
    void Learn(const std::string& kind, double pixels, double nanos, double whole);
    [[nodiscard]] std::size_t size() const { return kinds_.size(); }

   private:
    struct Kind {
      Mean mean;
      std::uint64_t learned = 0;  // when, in units
    };
    std::map<std::string, Kind> kinds_;
    Mean per_pixel_;  // of all kinds
    std::uint64_t units_ = 0;
  };

  Costs making_{kNanosPerPixel};
  Costs decoding_{kDecodeWeight * kNanosPerPixel};
  double opening_ns_ = 0;
};

}  // namespace gopmill
