// SPDX-License-Identifier: Apache-2.0
#include "codec/picture_geometry.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "media/av_error.h"

namespace gopmill {
namespace {

// Display aspect ratio: width / height of the picture as it is seen.
Rational DisplayAspect(Size size, Rational sample_aspect) {
  return Rational{size.width * sample_aspect.num, size.height * sample_aspect.den}.Reduced();
}

// value * ratio to the nearest even number within [2, limit].
int ScaledEven(int value, Rational ratio, int limit) {
  const std::int64_t half = Rescale(value, ratio, {2, 1});
  return static_cast<int>(std::clamp<std::int64_t>(2 * half, 2, limit));
}

// Sides that differ by less than one part of these are what rounding to even sizes makes.
constexpr std::int64_t kShapeParts = 50;

// Half of what is left, even.
int CentreEven(int outer, int inner) { return (outer - inner) / 4 * 2; }

}  // namespace

Rational Fitting(Rational ratio) { return av::Within(ratio, INT32_MAX); }

Placement PlacePicture(Size source, Rational sample_aspect, Size output, Fit fit) {
  Placement place{.crop = source, .scaled = output};
  const Rational in = DisplayAspect(source, sample_aspect);
  const Rational out = DisplayAspect(output, {1, 1});
  if (fit == Fit::kCrop) {
    // The cut is counted in source pixels, so the display aspects are compared, not the sizes.
    const Rational narrower{out.num * in.den, out.den * in.num};
    if (in > out) place.crop.width = ScaledEven(source.width, narrower, source.width);
    if (in < out) place.crop.height = ScaledEven(source.height, narrower.Inverse(), source.height);
    place.crop_x = CentreEven(source.width, place.crop.width);
    place.crop_y = CentreEven(source.height, place.crop.height);
  }
  if (fit == Fit::kPad) {
    if (in > out) place.scaled.height = ScaledEven(output.width, in.Inverse(), output.height);
    if (in < out) place.scaled.width = ScaledEven(output.height, in, output.width);
    place.pad_x = CentreEven(output.width, place.scaled.width);
    place.pad_y = CentreEven(output.height, place.scaled.height);
  }
  return place;
}

Rational OutputSampleAspect(Size source, Rational sample_aspect, Size output, Fit fit) {
  if (fit != Fit::kFit || source.width <= 0 || source.height <= 0) return {1, 1};
  const Rational in = DisplayAspect(source, sample_aspect);
  // Square if moving either side by one rounding step (two pixels) crosses the exact aspect.
  const Rational widest{output.width + 2, output.height - 2};
  const Rational narrowest{output.width - 2, output.height + 2};
  if (in <= widest && in >= narrowest) return {1, 1};
  return Fitting({in.num * output.height, in.den * output.width});
}

Rectangle PlaceCanvas(Size canvas, bool square, const PictureArea& where) {
  const bool is_source = canvas.width <= 0 || canvas.height <= 0 || canvas == where.source;
  const Rational shape = square && !is_source
                             ? DisplayAspect(canvas, {1, 1})
                             : DisplayAspect(where.source, where.source_sample_aspect);
  const Rational& pixel = where.sample_aspect;
  Rectangle place = where.area;
  // Output pixels that it is wide where it is as high as the area, and the reverse.
  const Rational wide = Fitting({shape.num * pixel.den, shape.den * pixel.num});
  const std::int64_t width = Rescale(place.height, wide, {1, 1});
  const bool alike = std::abs(width - place.width) * kShapeParts <= place.width;
  if (alike || width <= 0) return place;
  if (width < place.width) {
    place.x += (place.width - static_cast<int>(width)) / 2;
    place.width = static_cast<int>(width);
    return place;
  }
  const std::int64_t height = Rescale(place.width, wide.Inverse(), {1, 1});
  const int fitting = static_cast<int>(std::clamp<std::int64_t>(height, 1, place.height));
  place.y += place.height - fitting;
  place.height = fitting;
  return place;
}

}  // namespace gopmill
