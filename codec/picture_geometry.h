// SPDX-License-Identifier: Apache-2.0
//
// Where the source picture lands in the output picture: pure arithmetic on sizes.
//
// Thread-safety: compatible.
#pragma once

#include "base/rational.h"
#include "media/target.h"

namespace gopmill {

// The same reduced; where its parts then have more than 31 bits, the nearest that has not. > 0.
Rational Fitting(Rational ratio);

struct Size {
  int width = 0, height = 0;  // pixels
  bool operator==(const Size&) const = default;
};

// Crop the upright source to `crop` at (crop_x, crop_y), scale that to `scaled`, put it at
// (pad_x, pad_y) of the output. Offsets and scaled sizes are even (4:2:0).
struct Placement {
  int crop_x = 0, crop_y = 0;
  Size crop;
  Size scaled;
  int pad_x = 0, pad_y = 0;
  bool operator==(const Placement&) const = default;
};

// `source` and its sample aspect are upright (after rotation); its parts have 31 bits at most.
// Output pixels are square for kCrop and kPad; kFit and kStretch fill the output exactly.
Placement PlacePicture(Size source, Rational sample_aspect, Size output, Fit fit);

// Sample aspect of the output, whose parts have 31 bits at most; those of the source's 16. kFit
// keeps the source's display aspect: 1 where the output size matches it but for the rounding to
// even sizes, else what is left over. Other fits: 1.
Rational OutputSampleAspect(Size source, Rational sample_aspect, Size output, Fit fit);

// A rectangle, pixels.
struct Rectangle {
  int x = 0, y = 0, width = 0, height = 0;
  bool operator==(const Rectangle&) const = default;
};

// Where in an output picture a source's picture is seen, and what shape both have.
struct PictureArea {
  Rectangle area;                // of the output: without bars
  Rational sample_aspect{1, 1};  // of the output
  Size source;                   // upright
  Rational source_sample_aspect{1, 1};
  bool operator==(const PictureArea&) const = default;
};

// Where a canvas lies in the output that was made for the source's pictures (subtitles on it have
// places and sizes). As large as fits into the area, in its shape; at the bottom and in the middle.
// Without a size it is the source's picture. Its pixels are square (`square`, and the canvas is not
// that picture), or else its shape is that of the source.
Rectangle PlaceCanvas(Size canvas, bool square, const PictureArea& where);

}  // namespace gopmill
