// SPDX-License-Identifier: Apache-2.0
//
// Decides where decoded audio belongs: does a frame carry on from the one before it, or does it
// start anew at its own time? Pure.
//
// Container times jitter (whole milliseconds in Matroska and FLV), decoded samples do not. So the
// samples' own count is trusted as long as the container's times stay near it:
//   - off by more than 20 ms: a gap or an overlap; the frame starts anew at its time;
//   - off by more than 2 ms right after a packet was lost: so too;
//   - off by more than 2 ms to the same side for a whole second: not jitter but an offset; so too;
//   - frames of two lengths (Vorbis) may be off by as much as the longest of them: some writers
//     give a packet the time of its end;
//   - off by more than the longest believable gap: a broken time; the samples carry on and the new
//     times are taken as they are from there.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <optional>

#include "base/rational.h"

namespace gopmill {

class AudioTimeline {
 public:
  // `time_base`: seconds per tick of the times given. `longest_gap` in seconds. `blocks_vary`: the
  // codec's frames are of two lengths.
  AudioTimeline(Rational time_base, Rational longest_gap, bool blocks_vary = false)
      : time_base_(time_base), longest_gap_(longest_gap), blocks_vary_(blocks_vary) {}

  // The next frame: `samples` at `rate` per second. True if it carries on; false if it starts anew
  // at `pts`. Without a pts (nullopt) it carries on; the first frame always starts anew.
  bool CarriesOn(std::optional<std::int64_t> pts, int samples, int rate);
  // Something was lost between the frame before and the next one.
  void NoteLoss() { lost_ = true; }
  // Time at which the next frame is expected, ticks; 0 before the first.
  [[nodiscard]] std::int64_t expected() const;

 private:
  void Anchor(std::int64_t pts, int rate);
  [[nodiscard]] std::int64_t Tolerance() const;
  [[nodiscard]] bool Persists(std::int64_t difference, int samples);

  Rational time_base_;
  Rational longest_gap_;
  bool blocks_vary_;
  int rate_ = 0;              // 0 = nothing seen yet
  std::int64_t anchor_ = 0;   // time of the first sample counted, ticks
  std::int64_t count_ = 0;    // samples since the anchor
  std::int64_t off_for_ = 0;  // samples for which the times have been off to the same side
  bool off_late_ = false;     // which side
  bool lost_ = false;
  int longest_ = 0;  // frame so far, samples
};

}  // namespace gopmill
