// SPDX-License-Identifier: Apache-2.0
//
// Decoded frame in, frame of the target's size and pixel format out: deinterlace where the source
// is flagged interlaced or the target wants it, mirror, turn upright and as asked, scale (fit,
// stretch, crop, pad), convert the pixel format with bit-exact, accurately rounded arithmetic,
// denoise. A libavfilter graph behind one call. Noise is taken out of each picture by itself, at
// the output's size; and between pictures at the source's.
//
// Matrix and range are those that the output states: a YUV source's own as it was opened, but
// MPEG-4 has limited range only; RGB becomes BT.709, limited range, and so do pictures with a high
// dynamic range in eight bits (tone_map.h). Pictures that come otherwise later are converted.
// Chroma lies between the luma where it lay in the source. More bits than the output has are
// dithered (ordered, 8x8).
//
// A graph without temporal filters keeps no memory of frames, so a warm one gives the same bytes as
// a fresh one. One with them does; it belongs to one run. A frame
// that needs no change is passed on by reference.
//
// Thread-safety: thread-compatible; one worker at a time.
#pragma once

#include <memory>
#include <optional>

#include "base/status.h"
#include "codec/filter_chain.h"
#include "codec/picture_geometry.h"
#include "codec/tone_map.h"
#include "media/av_ptr.h"
#include "media/plan.h"

namespace gopmill {

// What an output states of its pictures, an AVColorRange and an AVColorSpace. What it does not
// state stays as it is in the input.
struct OutputColors {
  int range = 0, matrix = 2;
  bool operator==(const OutputColors&) const = default;
};

struct FilterSpec {
  // Input, as the decoder gives it. A frame that differs gets a graph of its own.
  int in_width = 0, in_height = 0, in_format = -1;
  Rational in_sample_aspect{1, 1};
  int in_color_space = 2, in_color_range = 0, in_chroma_location = 0;
  int rotation = 0;
  bool mirrored = false;
  // Temporal filters: a picture depends on its neighbours (StreamPlan::temporal_context).
  Deinterlace deinterlace = Deinterlace::kOff;  // kAuto: the flagged ones
  Denoise degrain = Denoise::kOff;
  // Output.
  int width = 0, height = 0, format = -1;
  Fit fit = Fit::kFit;
  Denoise denoise = Denoise::kOff;
  ToneMap tone_map = {};
  OutputColors colors = {};

  bool operator==(const FilterSpec&) const = default;
  [[nodiscard]] bool temporal() const {
    return deinterlace != Deinterlace::kOff || degrain != Denoise::kOff;
  }
};

// What is done before frames are selected: temporal filters, which leave size and format.
FilterSpec TemporalPart(const StreamPlan& plan, const AVFrame& frame);
// What is done to those that were selected: all else that the plan asks for, in this size.
FilterSpec SpatialPart(const StreamPlan& plan, Size size, int out_format,
                       const OutputColors& colors, const AVFrame& frame);
// Fit::kFit goes by the source's first pictures. One that comes later in a clearly different shape
// gets bars instead of being distorted. `sample_aspect`: of the output's pixels.
void KeepShape(FilterSpec& spec, Rational sample_aspect);
// Whether its pictures have full range: as the output states, but never where they are tone-mapped.
// Where nothing is stated they do where the input's had it, but for RGB.
bool MakesFullRange(const FilterSpec& spec);
// The colour matrix of its pictures, an AVColorSpace: that which the output states where the input
// can be converted to it, else the input's; BT.709 where they are tone-mapped, and of RGB.
int MatrixMade(const FilterSpec& spec);

// Where its pictures have the source's picture. `sample_aspect`: of the output's pixels; `source`:
// the spec before KeepShape, which may count the source's aspect in those.
PictureArea AreaOf(const FilterSpec& spec, const FilterSpec& source, Rational sample_aspect);

class FrameFilter {
 public:
  static Result<std::unique_ptr<FrameFilter>> Open(const FilterSpec& spec);

  // One frame in, one frame out (same pts). With temporal filters the output lags: `out` may stay
  // empty (returns false) until more frames are given; nullptr drains, a frame each time.
  Result<bool> Filter(const AVFrame* in, AVFrame& out);

  [[nodiscard]] const FilterSpec& spec() const { return spec_; }
  [[nodiscard]] std::size_t footprint_bytes() const;

 private:
  explicit FrameFilter(FilterSpec spec) : spec_(spec) {}
  Status AppendTemporal();
  Status FeedTheShortRun();
  Result<FilterSpec> AppendTurning();
  Status AppendFormat(int format);
  Status AppendGeometry();
  Status AppendToneMap();
  Status AppendDenoise();

  FilterSpec spec_;
  std::optional<FilterChain> chain_;          // none: frames pass unchanged
  bool by_zimg_ = false;                      // scaled, see scaling.h
  std::optional<Rectangle> full_range_bars_;  // around it
  // Of a denoising one in time, at its start.
  std::int64_t fed_ = 0, taken_ = 0;
  bool drained_ = false;
  av::Frame last_;
};

}  // namespace gopmill
