// SPDX-License-Identifier: Apache-2.0
//
// Picks, for each output frame of the plan's grid, the source frame it shows: the one with the
// largest pts that is not later than the grid allows. This is the state that a run hands on from
// unit to unit, with what it is decoded by (run_pictures.h).
//
// Closed captions of pictures that no output frame shows go with the next one that is shown; those
// right in front of a cut where the next unit begins afresh go with the last frame before it.
//
// Guarantees: asked for frames n, n+1, n+2... in order it answers each exactly once, whatever the
// source does; a missing picture repeats the one before, and is counted.
//
// Thread-safety: thread-compatible; moves between workers with its run.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "base/status.h"
#include "codec/captions.h"
#include "codec/context_cache.h"
#include "codec/frame_filter.h"
#include "codec/run_pictures.h"
#include "codec/video_decoder.h"
#include "media/plan.h"

namespace gopmill {

struct SelectionCounts {
  std::int64_t decoded = 0;   // frames that came out of the decoder
  std::int64_t taken = 0;     // that another stream of the source had decoded
  std::int64_t dropped = 0;   // of both, shown by no output frame
  std::int64_t preroll = 0;   // of these, in front of the first frame asked for
  std::int64_t repeated = 0;  // output frames that show the same source frame as the one before
};

class FrameSelector {
 public:
  // `first_number`: the number of the first packet that will be fed, for sources whose pictures are
  // counted. With this decoder, or by what Feed of units brings.
  FrameSelector(std::shared_ptr<const StreamPlan> plan, std::unique_ptr<VideoDecoder> decoder,
                std::int64_t first_number);
  FrameSelector(std::shared_ptr<const StreamPlan> plan, std::int64_t first_number);
  ~FrameSelector();

  // As for RunPictures.
  void Feed(std::vector<av::Packet> packets, bool last) {
    pictures_.Feed(std::move(packets), last);
  }
  Status Feed(const UnitInput& unit, std::size_t place, ContextCache& cache, PictureSeat* seat) {
    return pictures_.Feed(unit, place, cache, seat);
  }
  [[nodiscard]] bool lost() const { return pictures_.lost(); }
  // As for RunPictures, since its run began.
  [[nodiscard]] bool flawless() const { return pictures_.flawless(); }
  // Of what it is decoded by, about.
  [[nodiscard]] std::size_t footprint_bytes() const { return pictures_.footprint_bytes(); }

  struct Selected {
    const AVFrame* frame =
        nullptr;            // valid until the next call; null = the source gave none at all
    bool repeated = false;  // the same as for the output frame before
    Captions captions = {};
  };
  // The frame that the grid shows at its place n, counted from its origin. Call with increasing n.
  // `end_pts`: n is the last one of the run, and captions in front of that time (UnitSpec::end_pts)
  // belong to it.
  Result<Selected> Select(std::int64_t n, std::optional<SourceTicks> end_pts = std::nullopt);

  // Since they were reset.
  [[nodiscard]] SelectionCounts counts() const;
  void ResetCounts() {
    counts_ = {};
    before_ = pictures_.counts();
  }
  // Gives the decoder back once the run is over; null where it has none of its own.
  std::unique_ptr<VideoDecoder> TakeDecoder() { return pictures_.TakeDecoder(); }
  // Packets that the decoder rejected since the counts were reset.
  [[nodiscard]] std::int64_t damaged() const {
    return pictures_.counts().damaged - before_.damaged;
  }

 private:
  struct TimedCaptions {
    SourceTicks pts;
    Captions captions;
  };
  Status PullNext();
  Status PullRest(SourceTicks end);
  Captions TakeCaptions(SourceTicks after, SourceTicks latest);
  Result<bool> Decode(AVFrame& frame);
  Result<bool> FilterTemporal(AVFrame& frame);

  std::shared_ptr<const StreamPlan> plan_;
  RunPictures pictures_;
  std::unique_ptr<FrameFilter> temporal_;  // passed by each frame before selection
  av::Frame changed_;  // decoded, of another size: waits until what went before has left temporal_
  bool drained_ = false;
  av::Frame current_, next_;  // shown now; first one after it
  bool current_shown_ = false, any_shown_ = false;
  std::deque<TimedCaptions> captions_;  // of the pictures up to next_ that no frame has had
  bool has_captions_ = false;           // also of a form that fed_captions does not know
  SelectionCounts counts_;              // but for what pictures_ counts
  TapCounts before_;
};

}  // namespace gopmill
