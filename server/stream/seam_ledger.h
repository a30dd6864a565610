// SPDX-License-Identifier: Apache-2.0
//
// The seam certificate of a stream: for every join of two units, what a viewer could notice there,
// measured on the packets as they are given to the muxer. It proves the stream; it steers nothing.
//
// A join lies in front of each unit but the first; units that are pieces of one GOP count as one,
// and have the number of the first. Its record is complete when the unit behind it has been sent
// whole. Faults in front of the first join and behind the last record are in the totals, which hold
// everything.
//
// Cost: a few comparisons per packet, one record per unit, no allocation per packet in the usual
// case.
//
// Thread-safety: SeamLedger thread-compatible (the egress thread's); SeamLog safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/rational.h"
#include "base/thread_safety.h"
#include "codec/picture_geometry.h"
#include "codec/vbv.h"
#include "server/stream/parameter_set_table.h"

namespace gopmill {

// Records kept per stream, the newest: at two seconds per unit those of more than two hours.
inline constexpr std::size_t kKeptSeams = 4096;
// Pictures that may be sent before one that is shown earlier; more are a gap in time.
inline constexpr std::size_t kMaxPictureReorder = 64;

// What is wrong at a join, as bits.
enum class SeamFault : std::uint8_t {
  kFrames = 1,         // other than the planned number of pictures was sent
  kPts = 2,            // a presentation time is missing, doubled or off the grid
  kParameterSets = 4,  // the unit behind was coded with others than those of its size
  kVbv = 8,            // a picture was not in the declared buffer in time
  kAudio = 16,         // samples are missing or doubled
};

// One join. What is counted "since the join before" includes what lies at the join itself.
struct Seam {
  UnitIndex unit;                                   // behind the join
  std::int64_t frame = 0;                           // the output frame it starts with
  std::int64_t frames_planned = 0, frames_out = 0;  // in front of the join, since the start
  std::int64_t pts_gap_us = 0;  // from the end of the picture in front to the one behind
  std::int64_t pts_errors = 0;  // of the unit behind
  std::uint64_t parameter_hash = 0;
  Size size;                             // of the unit behind, as it was ordered; pixels
  std::optional<double> vbv_level_bits;  // when the first picture behind is due; none = no VBV
  std::int64_t vbv_underflows = 0;       // pictures of the unit behind
  std::int64_t audio_samples = 0;        // sent since the start
  std::int64_t audio_gap_samples = 0;    // missing, or doubled (negative), since the join before
  std::uint8_t faults = 0;               // bits of SeamFault

  [[nodiscard]] bool Has(SeamFault fault) const {
    return (faults & static_cast<std::uint8_t>(fault)) != 0;
  }
};

struct SeamTotals {
  std::int64_t units = 0;  // sent whole
  std::int64_t joins = 0;  // recorded
  std::int64_t faulty_joins = 0;
  std::int64_t frames_planned = 0, frames_out = 0;
  std::int64_t frame_count_errors = 0;  // units
  std::int64_t pts_errors = 0, parameter_set_changes = 0, vbv_underflows = 0;
  std::int64_t size_changes = 0;          // joins; no fault
  std::optional<double> vbv_lowest_bits;  // none = no VBV declared
  std::int64_t audio_packets = 0, audio_samples = 0;
  std::int64_t audio_gaps = 0, audio_missing_samples = 0, audio_doubled_samples = 0;
  std::int64_t audio_gaps_of_source = 0;  // copied sound keeps them: no fault of the join

  // Faults of all kinds, the stream's first and last unit included.
  [[nodiscard]] std::int64_t violations() const {
    return frame_count_errors + pts_errors + parameter_set_changes + vbv_underflows + audio_gaps;
  }
};

// The terms a stream is held to.
struct SeamTerms {
  Rational fps;
  Rational video_time_base;               // of the pts given
  std::int64_t video_offset = 0;          // pts of output frame 0
  std::int64_t maxrate = 0, bufsize = 0;  // bits per second and bits; 0 = none declared
  bool audio_copied = false;
};

// Keeps the records for whoever asks.
class SeamLog {
 public:
  void Add(const Seam& seam);
  [[nodiscard]] std::vector<Seam> Newest() const;  // oldest first
  // A faulty join before a clean one, then the larger gap, then the lower VBV level.
  [[nodiscard]] std::optional<Seam> Worst() const;

 private:
  mutable Mutex mutex_;  // guards both
  std::deque<Seam> seams_ GOPMILL_GUARDED_BY(mutex_);
  std::optional<Seam> worst_ GOPMILL_GUARDED_BY(mutex_);
};

class SeamLedger {
 public:
  using OnSeam = std::function<void(const Seam&)>;
  SeamLedger(const SeamTerms& terms, OnSeam on_seam);

  // In the order of the units; one that begins no GOP goes on with the one before.
  void OnPlanned(UnitIndex unit, std::int64_t first_frame, std::int64_t end_frame,
                 bool begins_gop = true);
  // Before the last picture of its GOP is sent. `size`: as ordered; few different ones.
  void OnParameterSets(UnitIndex unit, std::uint64_t hash, Size size);
  // A picture as sent, in coding order; pts in ticks of the video time base.
  void OnPicture(std::int64_t pts, std::int64_t bytes, bool last_of_unit);
  // Sound as sent; pts and duration in samples, `sound` the number of its track.
  void OnSound(std::int64_t pts, std::int64_t duration, std::size_t sound = 0);

  [[nodiscard]] const SeamTotals& totals() const { return totals_; }

 private:
  struct Unit {  // planned, not yet sent whole
    std::int64_t first_frame = 0, end_frame = 0;
    std::uint64_t hash = 0;
    Size size = {};
  };
  [[nodiscard]] std::int64_t TicksOf(std::int64_t frame) const;
  void BeginUnit(std::int64_t pts);
  void NotePts(std::int64_t pts);
  void SkipToWaiting();
  void EndUnit();

  const SeamTerms terms_;
  const OnSeam on_seam_;
  std::optional<VbvLedger> vbv_;
  SeamTotals totals_;
  std::map<UnitIndex, Unit> units_;  // the first one is being sent, or comes next
  bool in_unit_ = false;
  Seam seam_;  // in front of it
  std::int64_t unit_frames_ = 0;
  std::int64_t next_frame_ = 0;        // to be shown next
  std::vector<std::int64_t> waiting_;  // frames that were sent before one shown earlier; sorted
  ParameterSetTable sets_;
  std::optional<Size> size_;                         // of the unit before
  std::map<std::size_t, std::int64_t> next_sample_;  // of each sound track
  std::int64_t gap_samples_ = 0;                     // since the join before
  std::int64_t gaps_noted_ = 0;
};

}  // namespace gopmill
