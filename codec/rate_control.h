// SPDX-License-Identifier: Apache-2.0
//
// Hits a unit's bit rate with an encoder that runs at constant rate factor: it names the factor
// (CRF) for the next frame.
//
// Why not x264's own average bit rate: it needs seconds to learn, takes the cost of the key frame
// for that of all frames, and a unit is over before it recovers (48-frame units of a real movie at
// 600 kb/s came out 20 % too small and 3 dB worse than one long encode).
//
// Algorithm. Bits of a frame = complexity * 2^(-CRF / s), s about 5.4 for inter frames and 9.3 for
// key frames. (1) The complexity of a frame is estimated from its pictures when it is sent: spatial
// activity, change from the frame before, and noise (picture_activity.h), which falls by as many
// bits with each step of the CRF instead. (2) What coded frames really took corrects the scale of
// the estimates, recent ones counting more, after each mini-GOP (a P frame and the B frames before
// it). (3) The CRF moves, by a limited step, to where the frames that are waiting in the encoder's
// lookahead and those still to come (taken to be like the last ones seen) use up the rest of the
// unit's bits.
//
// Guarantee: a pure function of the numbers and pictures given. Units: bits, frames, 8-bit luma
// steps. Limits: the frames that are still inside the encoder when the last one is sent get the
// last CRF. Thread-safety: thread-compatible.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/rational.h"
#include "media/av_ptr.h"

namespace gopmill {

// In a unit of so many frames; 0 = unknown, two seconds are assumed.
inline double FramesAssumed(std::int64_t frames, Rational fps) {
  return frames > 0 ? static_cast<double>(frames) : 2 * fps.ToDouble();
}

// Bits of so many mean frames are left over in a unit. MPEG-4 takes a little more than it is told.
inline constexpr double kUnspentMpeg4 = -1;
// x264 with low delay does too: it is steered by what it has coded alone, and is some frames late
// (fitted to live GOPs of 5, 15 and 30), where there are as many.
inline constexpr double kLateOfLowDelay = 1.7, kLatePartOfLowDelay = 0.2;
constexpr double UnspentLowDelay(double frames) {
  return -std::min(kLateOfLowDelay, kLatePartOfLowDelay * frames);
}
// x264 otherwise: what the caution of the first estimate and the frames that it holds when the last
// one is sent leave over is a part of the unit, and what short units are too late to save is some
// frames'. Fitted to segments of 20 to 120 frames; without it long ones came out 3 to 6 % small.
inline constexpr double kUnspentPart = 0.04, kLateFrames = 1, kMostFitted = 120;
constexpr double UnspentX264(double frames) {
  return std::max(0.0, kUnspentPart * std::min(frames, kMostFitted) - kLateFrames);
}

// What a unit teaches those after it.
struct RateLesson {
  // How many times the bits that were estimated from pictures the key frame and the other frames
  // really took; 0 = not known.
  double key = 0, inter = 0;
  double crf = 0;  // mean of all frames; 0 = not known
  // One for all frames, at which they would have taken as many bits; 0 = not known.
  double even_crf = 0;
  double share = 1;  // times what it was to aim at, that it aimed at: more where it was harder
};

// At most so many times its rate for a unit that is harder than those before it.
inline constexpr double kMostShare = 1.3;

// What a unit is to aim at.
struct RateAim {
  double bps = 0;  // bits per second
  // Of earlier units of the stream; 0 = nothing is known of them.
  double usual_crf = 0;
  double key_scale = 1, inter_scale = 1;  // what estimates are to be multiplied with
  double most_share = kMostShare;         // >= 1
};

// Whether a unit's first frames took what was expected of them: kTrialFrames in closed mini-GOPs,
// the key frame included.
inline constexpr int kTrialFrames = 5;
enum class RateTrial { kOpen, kGood, kMisjudged };

class RateControl {
 public:
  struct Unit {
    int width = 0, height = 0;  // pixels
    Rational fps;
    RateAim aim;
    std::int64_t frames = 0;  // in the unit; 0 = unknown, two seconds are assumed
    double unspent = 0;       // as above
  };
  explicit RateControl(const Unit& unit);

  // Each frame before it is given to the encoder.
  void Observe(const AVFrame& frame);
  // Each packet as it leaves the encoder, in coding order.
  void Coded(std::int64_t bytes, std::int64_t pts);
  // For the frame that the encoder codes next; rounded (crf_scale.h).
  [[nodiscard]] double crf() const;
  // Of what has been coded so far.
  [[nodiscard]] RateLesson lesson() const;
  // kMisjudged: the key frame's CRF was far from the one at which the unit, as far as it is known
  // now, would take its bits, and most of the unit is still to come: to begin again with lesson()
  // is better than to make up for it. kGood once the first mini-GOPs are coded.
  [[nodiscard]] RateTrial trial() const;

 private:
  // Estimates are bits at CRF 0.
  struct Frame {
    double change = 0;                        // from the frame before, 8-bit steps
    double inter = 0;                         // as a P or B frame, without its noise
    double key = 0;                           // as a key frame or a scene cut
    double noise_pixels = 0, noise_zero = 0;  // that have noise; the CRF that takes it away
  };
  struct Demand {
    double key_bits = 0, cut_bits = 0;        // at CRF 0; of the key frame, of scene cuts
    double inter_bits = 0;                    // at CRF 0
    double noise_pixels = 0, noise_zero = 0;  // the latter a sum over the pixels

    void AddInter(const Frame& frame, double times);
    void Scale(double key, double cut, double inter);
    [[nodiscard]] double BitsAt(double crf) const;
  };
  [[nodiscard]] bool IsCut(std::size_t n) const;
  [[nodiscard]] bool HasCut(std::size_t first, std::size_t end) const;
  // Of the frames from `first` on to the unit's end (and beyond, to fill the horizon).
  [[nodiscard]] Demand DemandFrom(std::size_t first, double until) const;
  [[nodiscard]] double EstimateFrom(std::size_t first, std::size_t end) const;
  [[nodiscard]] double CutScale(double taken, double estimated) const;
  [[nodiscard]] double ShareAt(double crf_alone) const;
  struct Scales {  // what frames take, times what they were estimated to
    double inter = 1, cut = 1;
  };
  [[nodiscard]] Scales KnownScales() const;
  [[nodiscard]] double FittingCrf(const Scales& scales) const;
  double TakeShare(const Scales& scales);
  double Step(double ideal, double inter_scale);
  static double Solve(const Demand& demand, double bits);
  void Estimate();
  void CodedKey(double bits);
  void CloseGroup();
  void Steer();

  // Constant after construction.
  const RateAim aim_;
  const double pixels_, frames_, target_bits_;

  std::vector<Frame> seen_;
  av::Frame previous_;

  double crf_ = 25, floor_ = 1;
  double key_crf_ = 25;
  double last_scale_ = 1;                     // of inter frames, as it was known
  std::int64_t last_pts_ = 0;                 // largest that was coded
  std::int64_t closed_pts_ = 0;               // largest in closed groups
  std::size_t closed_ = 0;                    // frames in closed groups, the key frame included
  double closed_bits_ = 0;                    // of them
  double group_bits_ = 0, group_scaled_ = 0;  // open group: bits; bits it would have had at CRF 0
  std::size_t group_frames_ = 0;
  double group_crf_ = 25;  // of its P frame: those of B frames follow from their neighbours'
  // At CRF 0, fading: what mini-GOPs took, and were to take; without and with a cut.
  double taken_ = 0, estimated_ = 0;
  double cut_taken_ = 0, cut_estimated_ = 0;
  // For the lesson: the frames that were coded; what the key frame took, times its estimate.
  std::int64_t coded_ = 0;
  double crf_sum_ = 0, key_surprise_ = 0, share_ = 1;
  double coded_bits_ = 0, coded_scaled_ = 0;      // as they are; as they would be at CRF 0
  double inter_taken_ = 0, inter_estimated_ = 0;  // of groups without cuts, not fading
};

}  // namespace gopmill
