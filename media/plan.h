// SPDX-License-Identifier: Apache-2.0
//
// The plan of a stream: the fixed part (StreamPlan) and the units cut from it (UnitSpec).
//
// Guarantee: whatever worker, order, retry or machine runs unit k, it takes exactly the output
// frames [first_frame, end_frame) and yields their packets (of pieces of a GOP: all together do).
// Nothing in a UnitSpec depends on timing, on the number of workers or on the scheduler; it is a
// pure function of the source's packets and the target.
//
// Thread-safety: safe once made (const).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/rational.h"
#include "media/source_info.h"
#include "media/subtitle_script.h"
#include "media/target.h"

namespace gopmill {

// Time of a source packet or frame: ticks of the video stream's time base, after repair, with the
// time base's zero at the start of the source's own timeline (see media/ingest).
using SourceTicks = std::int64_t;

// The global grid of output frames. Frame n has time n / fps on the output clock; it shows the
// source frame with the largest pts <= origin + (first + n) / fps + epsilon. At equal rates
// (within 1 %) epsilon is half a frame interval, so that the nearest is shown: the times of cameras
// waver, and those of many files were once rounded to 1 ms, by which a third of the frames would be
// lost and as many doubled. At others it is one source tick, at most a quarter of the shorter
// interval. Of a live source it is that quarter at all rates.
class OutputGrid {
 public:
  OutputGrid() = default;
  OutputGrid(Rational fps, Rational source_fps, Rational source_time_base, SourceTicks origin,
             bool live = false);

  // The same frames, counted from `frame` of this one on (of a live source: readers that begin at
  // different times share one grid).
  [[nodiscard]] OutputGrid CountedFrom(std::int64_t frame) const;

  // The latest source pts that output frame n may show.
  [[nodiscard]] SourceTicks LatestPts(std::int64_t n) const;
  // The first output frame that may show a source frame with this pts (>= 0).
  [[nodiscard]] std::int64_t FirstFrameShowing(SourceTicks pts) const;
  // Number of output frames of a source whose last frame ends at `end`.
  [[nodiscard]] std::int64_t FrameCount(SourceTicks end) const;
  // Number of output frames that begin before this time of the source, seconds: an end that is
  // asked for, which is no multiple of its ticks (a frame, in AVI).
  [[nodiscard]] std::int64_t FramesBefore(Rational time) const;
  // What is to be added to times of the source for those of the script that is drawn: where reading
  // began behind jumps, these have not been closed (ShiftAt).
  void SetScriptShift(std::int64_t us) { script_shift_us_ = us; }
  // When frame n is shown, also one in front of the first: microseconds since the source's zero, on
  // the clock of its script.
  [[nodiscard]] std::int64_t SourceMicros(std::int64_t n) const {
    return Rescale(origin_, tick_, kMicros) + Rescale(n + first_, fps_.Inverse(), kMicros) +
           script_shift_us_;
  }
  // The first frame, also one in front of the first, that is shown at or after this time on that
  // clock; whole milliseconds, rounded down.
  [[nodiscard]] std::int64_t FirstFrameAt(std::int64_t source_ms) const;
  [[nodiscard]] Rational fps() const { return fps_; }
  [[nodiscard]] SourceTicks origin() const { return origin_; }
  // Frames from the origin to frame 0.
  [[nodiscard]] std::int64_t first() const { return first_; }

 private:
  // `pts` in ticks, and parts of them.
  [[nodiscard]] std::int64_t FirstFrame(Rational pts, Rational epsilon) const;

  Rational fps_;
  Rational tick_;     // source time base, seconds
  Rational epsilon_;  // in source ticks
  Rational strict_;   // the same, but for ends that are asked for never to the nearest
  SourceTicks origin_ = 0;
  std::int64_t first_ = 0;
  std::int64_t script_shift_us_ = 0;
};

// How a unit's first frame can be reached.
enum class CutKind {
  kClosed,   // at an IDR or closed GOP: a fresh decoder starts right there
  kPreroll,  // at an open GOP, whose leading pictures are dropped; at a recovery point that is not
             // exact at once, or with temporal filters: decode the GOP before too, and drop those
  kChained,  // inside a run: the decoder comes on from the unit before
};

// One unit of work. Packets are numbered in decode order from the first one the ingest read.
struct UnitSpec {
  UnitIndex index;
  std::int64_t first_frame = 0, end_frame = 0;    // output frames [first, end)
  std::int64_t first_packet = 0, end_packet = 0;  // source packets to feed, [first, end)
  CutKind cut = CutKind::kClosed;
  // Of a live source, with preroll: all streams that read it cut a run at this picture, and so at
  // these packets.
  std::optional<SourceTicks> cut_by_all = {};
  // Its pictures do not depend on packets before this one: the run's first, or a closed random
  // access since.
  std::int64_t sync_packet = 0;
  bool ends_run = false;  // no unit goes on with its decoder, which is drained at the end
  bool run_fed = false;   // others go on, without packets: it is drained here already
  // The next unit begins at a closed random access that is shown then: pictures before it which no
  // output frame shows are this unit's, with their captions. None where the next one decodes them.
  std::optional<SourceTicks> end_pts = {};
  std::int64_t source_bytes = 0;  // compressed size of the source in this interval
  std::int64_t budget_bps = 0;    // video bit rate of this unit, bits per second (kBitrate mode)
  // quality=best: bits that the unit took at that CRF when the movie was analysed, and the step of
  // CRF that halves them; 0 = not known.
  double measured_bits = 0, measured_crf = 0, measured_step = 0;
  // Low delay (StreamPlan::low_delay): the unit is a piece of a GOP of the output, and its encoder
  // goes on through all of them. Elsewhere each unit is one GOP.
  std::int64_t gop_offset = 0;  // frames of that GOP before this unit
  std::int64_t gop_frames = 0;  // that it is expected to have in all; 0 = those of this unit
  bool ends_gop = true;         // the encoder is drained at the end

  [[nodiscard]] std::int64_t frame_count() const { return end_frame - first_frame; }
  [[nodiscard]] bool begins_gop() const { return gop_offset == 0; }
  [[nodiscard]] std::int64_t gop_frame() const { return first_frame - gop_offset; }
};

// What of a movie's text is in the output.
struct PlanTexts {
  std::shared_ptr<const SubtitleScript> script;              // in the pictures; may be null
  std::shared_ptr<const std::vector<SubtitleTrack>> copied;  // as tracks; may be null
  ClosedJumps jumps = {};  // of the source, where its text was read; their times are without them
};

// What is done to this source: never kAuto where it does not say that it is interlaced.
Deinterlace DeinterlaceOf(const VideoInfo& video, const Target& target);

// Why a stream ends without a picture.
Error NothingShown(const Target& target);

// Source pictures on each side of one that filters before the selection look at (deinterlacing,
// denoising in time). With any, no cut is closed: a decoder has to begin early enough to have them,
// and to go on until it has.
int TemporalContext(const VideoInfo& video, const Target& target);

// The fixed part of a plan.
struct StreamPlan {
  std::shared_ptr<const SourceInfo> source;
  Target target;
  OutputGrid grid;
  // A live source whose pictures are worked on while their GOP still arrives: units are pieces of
  // GOPs, and the encoder looks at no picture to come but those of two B frames, if it may.
  bool low_delay = false;
  // The container gives no usable pts: frames are numbered in the order the decoder puts them out.
  bool counted_pts = false;
  // Delay of the video's output clock against the stream's zero (audio that starts first), in
  // output frames' time base ticks of 1/90000 s.
  std::int64_t video_offset_90k = 0;
  // Number of the first packet that the ingest reads, among the pictures of a live source.
  std::int64_t first_packet = 0;
  PlanTexts texts;
  // What is to be added to times of the source for those of its copied texts and moved chapters.
  std::int64_t text_shift_us = 0;

  // Clockwise degrees to turn decoded pictures: 0, 90, 180, 270.
  [[nodiscard]] int rotation() const { return (source->video.rotation + target.rotate) % 360; }
  [[nodiscard]] Deinterlace deinterlace() const { return DeinterlaceOf(source->video, target); }
  [[nodiscard]] int temporal_context() const { return TemporalContext(source->video, target); }
  // What of the source is asked for, on the clock of its texts.
  [[nodiscard]] SourceClip TextClip() const;
};

// The same for pictures that are coded so; the plan itself where it says that, or `coded` is null.
std::shared_ptr<const StreamPlan> PlanCodedAs(std::shared_ptr<const StreamPlan> plan,
                                              const std::shared_ptr<const SourceInfo>& coded);

}  // namespace gopmill
