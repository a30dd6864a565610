// SPDX-License-Identifier: Apache-2.0
//
// What scales a picture: a filter of libavfilter with its options.
//
// Two libraries share the work. Where the size alone changes, zimg (the filter zscale) takes about
// two thirds of swscale's time. It calculates with integers there, so its bytes are the same on
// every CPU; it also keeps chroma where it lies between the luma. swscale, told to round exactly,
// does everything else: other pixel formats, RGB, full range, odd sizes, and changes of the height
// alone, in which it is the quicker one. The kernel is the same (bicubic, B = 0, C = 0.6).
//
// Thread-safety: safe.
#pragma once

#include <string>

#include "codec/frame_filter.h"
#include "codec/picture_geometry.h"

namespace gopmill {

// Whether this AVPixelFormat has luma alone, and maybe alpha (not black and white).
bool IsGray(int format);
// Whether pictures of this AVPixelFormat and AVColorRange say that they have full range: the names
// of some formats do, and grey that says nothing is taken to, as by FFmpeg.
bool SaysFullRange(int format, int range);
// Of the input: whether it is RGB; whether it has full range and is not.
bool HasRgb(const FilterSpec& spec);
bool HasFullRange(const FilterSpec& spec);
// The coefficients of an AVColorSpace as swscale names them; null where it has none.
const char* MatrixName(int space);
// The AVColorSpace of pictures that state this one and have so many lines: where they state none,
// BT.709 of more than SD has, as players take them.
int MatrixMeant(int space, int lines);
// Whether YUV gets another matrix than its own: where both are stated, and known to swscale.
bool ChangesMatrix(const FilterSpec& spec);
// Whether it gets another range, or another matrix.
bool ChangesColors(const FilterSpec& spec);

struct Scaler {
  const char* filter = nullptr;
  std::string options;
  // It is zimg. Pictures are then given to it without saying what their colours mean
  // (WithoutColors): that stays, and zimg refuses some of what sources say.
  bool zimg = false;
};

// `spec` with the format in which pictures reach it (TurnableFormat).
Scaler ScalerFor(const FilterSpec& spec, const Placement& place);

// Pictures with other distances of chroma across than down cannot be turned by 90 degrees: the
// format, without that and as deep, to which they are converted first, or else the input's; and
// the options of the filter "scale" that does it.
int TurnableFormat(const FilterSpec& spec);
std::string TurnableOptions(const FilterSpec& spec);

// A reference to the same picture that says nothing about its colours but the range.
av::Frame WithoutColors(const AVFrame& picture);
// `scaled` says what `picture` says.
void CopyColors(const AVFrame& picture, AVFrame& scaled);

}  // namespace gopmill
