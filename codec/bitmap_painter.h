// SPDX-License-Identifier: Apache-2.0
//
// A bitmap with a palette over a picture of another size: each pixel of the picture gets the mean
// of the part of the bitmap that it covers, in colour and opacity, in each plane by itself.
// Integers only, so that the bytes are the same on every CPU.
//
// Thread-safety: safe (pure functions); thread-compatible (the picture).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "codec/picture_geometry.h"
#include "media/av_ptr.h"
#include "media/subtitle_bitmaps.h"

namespace gopmill {

// A bitmap in the size and the colours of a kind of pictures.
struct PaintedBitmap {
  struct Plane {
    Rectangle place;  // of the picture's plane, within it; may be empty
    // Of each pixel: its opacity, and its sample times that; both in parts of 1/65536.
    std::vector<std::uint32_t> opacity, sample;
  };
  std::array<Plane, 3> planes;
};

// Whether pictures of this AVPixelFormat can be drawn on: planar YUV without alpha, 8 to 12 bits.
bool CanBePainted(int format);

// For pictures like this one, in which the canvas, `canvas` large, lies at `place`. White is as
// bright as the paper white of pictures with a high dynamic range (BT.2408: 203 cd/m2) where this
// is one.
PaintedBitmap PaintBitmap(const Bitmap& bitmap, Size canvas, const Rectangle& place,
                          const AVFrame& picture);

// Both in one, `above` over `below`.
PaintedBitmap Over(const PaintedBitmap& below, const PaintedBitmap& above);
// Samples that it covers, in all planes.
std::size_t SamplesIn(const PaintedBitmap& bitmap);

// Over a picture of that size and format.
void Blend(const PaintedBitmap& bitmap, AVFrame& picture);

}  // namespace gopmill
