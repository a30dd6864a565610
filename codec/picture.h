// SPDX-License-Identifier: Apache-2.0
//
// Pictures made from nothing.
//
// Thread-safety: thread-compatible.
#pragma once

#include "base/status.h"
#include "codec/picture_geometry.h"
#include "media/av_ptr.h"

namespace gopmill {

// Memory for a picture, its content undefined. `format` is an AVPixelFormat. Fails where it would
// be larger than a block may be (kMaxFfmpegBlock): sources and clients say how large pictures are.
Result<av::Frame> NewPicture(int width, int height, int format);

// Black in a range, an AVColorRange; in limited range where it is not stated.
void PaintBlack(AVFrame& picture, int range);
// The same around `area`, whose sides lie on whole samples of chroma.
void PaintBars(AVFrame& picture, const Rectangle& area, int range);

}  // namespace gopmill
