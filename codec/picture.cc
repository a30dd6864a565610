// SPDX-License-Identifier: Apache-2.0
#include "codec/picture.h"

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
}

#include <array>
#include <cstddef>

#include "media/av_error.h"

namespace gopmill {
namespace {

// Of planar pictures: each plane starts at whole samples of chroma.
void PaintBlackPart(AVFrame& picture, const Rectangle& part, int range) {
  if (part.width <= 0 || part.height <= 0) return;
  const auto format = static_cast<AVPixelFormat>(picture.format);
  const AVPixFmtDescriptor& described = *av_pix_fmt_desc_get(format);
  std::array<std::uint8_t*, 4> planes{};
  std::array<std::ptrdiff_t, 4> lines{};
  for (int i = 0; i < av_pix_fmt_count_planes(format); ++i) {
    const bool chroma = i == 1 || i == 2;
    const int x = part.x >> (chroma ? described.log2_chroma_w : 0);
    const int y = part.y >> (chroma ? described.log2_chroma_h : 0);
    const auto plane = static_cast<std::size_t>(i);
    lines[plane] = picture.linesize[i];
    planes[plane] = picture.data[i] + y * lines[plane] + std::ptrdiff_t{x} * described.comp[i].step;
  }
  av_image_fill_black(planes.data(), lines.data(), format, static_cast<AVColorRange>(range),
                      part.width, part.height);
}

}  // namespace

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

void PaintBlack(AVFrame& picture, int range) {
  PaintBlackPart(picture, {.width = picture.width, .height = picture.height}, range);
}

void PaintBars(AVFrame& picture, const Rectangle& area, int range) {
  const int right = area.x + area.width, below = area.y + area.height;
  PaintBlackPart(picture, {.width = picture.width, .height = area.y}, range);
  PaintBlackPart(picture, {.y = below, .width = picture.width, .height = picture.height - below},
                 range);
  PaintBlackPart(picture, {.y = area.y, .width = area.x, .height = area.height}, range);
  PaintBlackPart(picture,
                 {.x = right, .y = area.y, .width = picture.width - right, .height = area.height},
                 range);
}

}  // namespace gopmill
