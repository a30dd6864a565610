// SPDX-License-Identifier: Apache-2.0
//
// Pictures made from nothing.
//
// Thread-safety: thread-compatible.
#pragma once

#include "base/status.h"
#include "media/av_ptr.h"

namespace gopmill {

// Memory for a picture, its content undefined. `format` is an AVPixelFormat.
Result<av::Frame> NewPicture(int width, int height, int format);

// Black in limited range.
void PaintBlack(AVFrame& picture);

}  // namespace gopmill
