// SPDX-License-Identifier: Apache-2.0
#include "codec/picture.h"

extern "C" {
#include <libavutil/imgutils.h>
}

#include <array>
#include <cstddef>

#include "media/av_error.h"

namespace gopmill {

Result<av::Frame> NewPicture(int width, int height, int format) {
  av::Frame picture = av::NewFrame();
  picture->format = format;
  picture->width = width;
  picture->height = height;
  if (const int code = av_frame_get_buffer(picture.get(), 0); code < 0) {
    return av::AvError("No memory for a picture", code);
  }
  return picture;
}

void PaintBlack(AVFrame& picture) {
  std::array<std::ptrdiff_t, 4> lines{};
  for (std::size_t i = 0; i < lines.size(); ++i) lines[i] = picture.linesize[i];
  av_image_fill_black(picture.data, lines.data(), static_cast<AVPixelFormat>(picture.format),
                      AVCOL_RANGE_MPEG, picture.width, picture.height);
}

}  // namespace gopmill
