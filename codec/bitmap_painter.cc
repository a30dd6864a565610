// SPDX-License-Identifier: Apache-2.0
#include "codec/bitmap_painter.h"

extern "C" {
#include <libavutil/csp.h>
#include <libavutil/pixdesc.h>
}

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "codec/scaling.h"

namespace gopmill {
namespace {

// A pixel of the bitmap in fixed point. What covers a whole canvas of kMaxCanvasSide, along both
// axes, times 255 * 4095 (opacity times a sample of twelve bits) fits into 64 bits.
constexpr std::int64_t kFine = 256;
constexpr int kMostBits = 12;
constexpr std::int64_t kOne = 65536;  // of PaintedBitmap::Plane

// Which pixels of the bitmap a pixel of the plane covers, along one axis, and how much of each.
struct Cover {
  int first = 0;
  std::vector<std::int64_t> weights;
  std::int64_t whole = 1;  // their sum where all of it lies on the bitmap
};

struct Axis {
  int begin = 0;             // first pixel of the plane that is covered
  std::vector<Cover> cells;  // of the pixels from there on
};

// `size` pixels from `at` of a canvas that is `canvas` large, which takes `length` from `start` of
// the luma plane; in a plane whose pixels have 2^shift of it and which has `limit` pixels.
struct Line {
  int at = 0, size = 0, canvas = 1;
  int start = 0, length = 1, shift = 0, limit = 0;

  // The left edge of a pixel of the plane, on the bitmap, in 1/kFine.
  [[nodiscard]] std::int64_t Edge(std::int64_t pixel) const {
    const std::int64_t luma = (pixel << static_cast<unsigned>(shift)) - start;
    return luma * canvas * kFine / length - std::int64_t{at} * kFine;
  }
  // The pixel of the plane in which an edge of the bitmap lies, about.
  [[nodiscard]] std::int64_t PixelOf(int edge) const {
    const std::int64_t luma = start + std::int64_t{at + edge} * length / canvas;
    return luma >> static_cast<unsigned>(shift);
  }
};

// What lies between two edges on a bitmap that is `limit` large.
Cover CoverOf(std::int64_t begin, std::int64_t end, std::int64_t limit) {
  end = std::max(end, begin + 1);  // far enlarged, many pixels lie at one place
  const std::int64_t from = std::clamp<std::int64_t>(begin, 0, limit);
  const std::int64_t to = std::clamp<std::int64_t>(end, from, limit);
  Cover cover{.first = static_cast<int>(from / kFine), .weights = {}, .whole = end - begin};
  for (std::int64_t at = from; at < to;) {
    const std::int64_t next = std::min(to, (at / kFine + 1) * kFine);
    cover.weights.push_back(next - at);
    at = next;
  }
  return cover;
}

Axis AxisOf(const Line& line) {
  Axis axis;
  const auto begin = static_cast<int>(std::clamp<std::int64_t>(line.PixelOf(0) - 1, 0, line.limit));
  const auto end =
      static_cast<int>(std::clamp<std::int64_t>(line.PixelOf(line.size) + 2, begin, line.limit));
  axis.begin = begin;
  for (int pixel = begin; pixel < end; ++pixel) {
    axis.cells.push_back(CoverOf(line.Edge(pixel), line.Edge(pixel + 1), line.size * kFine));
  }
  return axis;
}

// What red, green and blue have of luma; of a matrix that FFmpeg has no numbers for as if nothing
// were said.
const AVLumaCoefficients& SharesOf(const AVFrame& picture) {
  const AVLumaCoefficients* said = av_csp_luma_coeffs_from_avcsp(picture.colorspace);
  if (said != nullptr) return *said;
  const int meant = MatrixMeant(AVCOL_SPC_UNSPECIFIED, picture.height);
  return *av_csp_luma_coeffs_from_avcsp(static_cast<AVColorSpace>(meant));
}

// Of the signal, for the white of paper: PQ (SMPTE ST 2084) and HLG (BT.2100), BT.2408 table 1.
double WhiteOf(const AVFrame& picture) {
  if (picture.color_trc == AVCOL_TRC_SMPTE2084) return 0.58;
  if (picture.color_trc == AVCOL_TRC_ARIB_STD_B67) return 0.75;
  return 1;
}

// Samples of Y, Cb and Cr for each colour of the palette, in `bits`.
std::array<std::array<std::int64_t, 256>, 3> SamplesOf(const Bitmap& bitmap, const AVFrame& picture,
                                                       int bits) {
  const AVLumaCoefficients& shares = SharesOf(picture);
  const double of_red = av_q2d(shares.cr), of_green = av_q2d(shares.cg),
               of_blue = av_q2d(shares.cb);
  const double white = WhiteOf(picture);
  const bool full = picture.color_range == AVCOL_RANGE_JPEG;
  const double scale = std::ldexp(1.0, bits - 8);
  const double black = full ? 0 : 16 * scale;
  const double luma = full ? 256 * scale - 1 : 219 * scale;
  const double chroma = full ? 256 * scale - 1 : 224 * scale;
  std::array<std::array<std::int64_t, 256>, 3> samples{};
  for (std::size_t i = 0; i < bitmap.palette.size(); ++i) {
    const std::uint32_t argb = bitmap.palette.at(i);
    const auto part = [&](unsigned shift) { return white * ((argb >> shift) & 0xFFU) / 255.0; };
    const double red = part(16), green = part(8), blue = part(0);
    const double y = of_red * red + of_green * green + of_blue * blue;
    const auto limited = [&](double sample) {
      return std::clamp<std::int64_t>(std::llround(sample), 0, (1 << bits) - 1);
    };
    samples[0].at(i) = limited(black + luma * y);
    samples[1].at(i) = limited(128 * scale + chroma * (blue - y) / (2 * (1 - of_blue)));
    samples[2].at(i) = limited(128 * scale + chroma * (red - y) / (2 * (1 - of_red)));
  }
  return samples;
}

// Sums over a row of the bitmap, for each pixel of the plane.
struct Row {
  std::vector<std::int64_t> opacity, sample;
};

struct Table {
  std::array<std::int64_t, 256> opacity{}, sample{};  // the latter times the former
};

Row NoRow(const Axis& across) {
  return {.opacity = std::vector<std::int64_t>(across.cells.size()),
          .sample = std::vector<std::int64_t>(across.cells.size())};
}

Row SumRow(const std::uint8_t* indices, const Axis& across, const Table& table) {
  Row row = NoRow(across);
  for (std::size_t cell = 0; cell < across.cells.size(); ++cell) {
    const Cover& cover = across.cells[cell];
    const std::uint8_t* index = indices + cover.first;
    for (const std::int64_t weight : cover.weights) {
      row.opacity[cell] += weight * table.opacity.at(*index);
      row.sample[cell] += weight * table.sample.at(*index);
      ++index;
    }
  }
  return row;
}

// Adds `weight` times a row.
void AddRow(const Row& row, std::int64_t weight, Row& sum) {
  for (std::size_t x = 0; x < sum.opacity.size(); ++x) {
    sum.opacity[x] += weight * row.opacity[x];
    sum.sample[x] += weight * row.sample[x];
  }
}

PaintedBitmap::Plane PaintPlane(const std::vector<std::uint8_t>& indices, int stride,
                                const Axis& across, const Axis& down, const Table& table) {
  PaintedBitmap::Plane plane;
  plane.place = {.x = across.begin,
                 .y = down.begin,
                 .width = static_cast<int>(across.cells.size()),
                 .height = static_cast<int>(down.cells.size())};
  int known = -1;  // the row of the bitmap that `row` has: neighbours share one
  Row row;
  for (const Cover& cover : down.cells) {
    Row sum = NoRow(across);
    for (std::size_t i = 0; i < cover.weights.size(); ++i) {
      const int y = cover.first + static_cast<int>(i);
      if (y != known) row = SumRow(indices.data() + std::ptrdiff_t{y} * stride, across, table);
      known = y;
      AddRow(row, cover.weights[i], sum);
    }
    for (std::size_t x = 0; x < across.cells.size(); ++x) {
      const Rational whole{255 * cover.whole * across.cells[x].whole, 1};
      const auto part = [&](std::int64_t value) {
        return static_cast<std::uint32_t>(Rescale(value, {kOne, 1}, whole));
      };
      plane.opacity.push_back(part(sum.opacity[x]));
      plane.sample.push_back(part(sum.sample[x]));
    }
  }
  return plane;
}

const AVPixFmtDescriptor* DescriptorOf(int format) {
  return av_pix_fmt_desc_get(static_cast<AVPixelFormat>(format));
}

// One sample, as memory has it.
template <typename Sample>
void BlendPlane(const PaintedBitmap::Plane& plane, std::uint8_t* data, int stride) {
  std::size_t at = 0;
  for (int y = 0; y < plane.place.height; ++y) {
    std::uint8_t* line = data + std::ptrdiff_t{plane.place.y + y} * stride;
    Sample* row = reinterpret_cast<Sample*>(line) + plane.place.x;
    for (int x = 0; x < plane.place.width; ++x, ++at) {
      const std::int64_t below = row[x] * (kOne - plane.opacity[at]);
      row[x] = static_cast<Sample>((below + plane.sample[at] + kOne / 2) / kOne);
    }
  }
}

}  // namespace

bool CanBePainted(int format) {
  const AVPixFmtDescriptor* found = DescriptorOf(format);
  constexpr std::uint64_t kNot = AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_ALPHA | AV_PIX_FMT_FLAG_BE |
                                 AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_HWACCEL |
                                 AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_FLOAT;
  if (found == nullptr || (found->flags & kNot) != 0 || found->nb_components != 3) return false;
  for (int i = 0; i < 3; ++i) {
    const AVComponentDescriptor& part = found->comp[i];
    const bool plain = part.plane == i && part.offset == 0 && part.shift == 0 &&
                       part.step == (part.depth > 8 ? 2 : 1);
    if (!plain || part.depth < 8 || part.depth > kMostBits) return false;
  }
  return true;
}

PaintedBitmap PaintBitmap(const Bitmap& bitmap, Size canvas, const Rectangle& place,
                          const AVFrame& picture) {
  const AVPixFmtDescriptor& format = *DescriptorOf(picture.format);
  const std::vector<std::uint8_t> indices = Unpacked(bitmap);
  const auto samples = SamplesOf(bitmap, picture, format.comp[0].depth);
  PaintedBitmap painted;
  for (std::size_t i = 0; i < 3; ++i) {
    const int shift_x = i == 0 ? 0 : format.log2_chroma_w;
    const int shift_y = i == 0 ? 0 : format.log2_chroma_h;
    const Axis across = AxisOf({.at = bitmap.x,
                                .size = bitmap.width,
                                .canvas = canvas.width,
                                .start = place.x,
                                .length = place.width,
                                .shift = shift_x,
                                .limit = AV_CEIL_RSHIFT(picture.width, shift_x)});
    const Axis down = AxisOf({.at = bitmap.y,
                              .size = bitmap.height,
                              .canvas = canvas.height,
                              .start = place.y,
                              .length = place.height,
                              .shift = shift_y,
                              .limit = AV_CEIL_RSHIFT(picture.height, shift_y)});
    Table table;
    for (std::size_t color = 0; color < 256; ++color) {
      table.opacity.at(color) = bitmap.palette.at(color) >> 24U;
      table.sample.at(color) = table.opacity.at(color) * samples.at(i).at(color);
    }
    painted.planes.at(i) = PaintPlane(indices, bitmap.width, across, down, table);
  }
  return painted;
}

namespace {

using PaintedPlane = PaintedBitmap::Plane;

// The smallest rectangle around both; one without a pixel is nowhere.
Rectangle Around(const Rectangle& one, const Rectangle& other) {
  if (one.width <= 0 || one.height <= 0) return other;
  if (other.width <= 0 || other.height <= 0) return one;
  const int right = std::max(one.x + one.width, other.x + other.width);
  const int bottom = std::max(one.y + one.height, other.y + other.height);
  const int x = std::min(one.x, other.x), y = std::min(one.y, other.y);
  return {.x = x, .y = y, .width = right - x, .height = bottom - y};
}

void LayOver(const PaintedPlane& above, PaintedPlane& plane) {
  std::size_t at = 0;
  for (int y = 0; y < above.place.height; ++y) {
    const std::int64_t row = std::int64_t{above.place.y + y - plane.place.y} * plane.place.width;
    std::int64_t to = row + above.place.x - plane.place.x;
    for (int x = 0; x < above.place.width; ++x, ++at, ++to) {
      const std::uint64_t through = static_cast<std::uint64_t>(kOne) - above.opacity[at];
      const auto under = [&](std::uint32_t value) {
        return static_cast<std::uint32_t>((value * through + kOne / 2) / kOne);
      };
      const auto i = static_cast<std::size_t>(to);
      plane.opacity[i] = under(plane.opacity[i]) + above.opacity[at];
      plane.sample[i] = under(plane.sample[i]) + above.sample[at];
    }
  }
}

}  // namespace

PaintedBitmap Over(const PaintedBitmap& below, const PaintedBitmap& above) {
  PaintedBitmap both;
  for (std::size_t i = 0; i < both.planes.size(); ++i) {
    PaintedPlane& plane = both.planes.at(i);
    plane.place = Around(below.planes.at(i).place, above.planes.at(i).place);
    const auto pixels =
        static_cast<std::size_t>(plane.place.width) * static_cast<std::size_t>(plane.place.height);
    plane.opacity.resize(pixels);
    plane.sample.resize(pixels);
    LayOver(below.planes.at(i), plane);
    LayOver(above.planes.at(i), plane);
  }
  return both;
}

std::size_t SamplesIn(const PaintedBitmap& bitmap) {
  std::size_t sum = 0;
  for (const PaintedPlane& plane : bitmap.planes) sum += plane.opacity.size();
  return sum;
}

void Blend(const PaintedBitmap& bitmap, AVFrame& picture) {
  const bool wide = DescriptorOf(picture.format)->comp[0].depth > 8;
  for (std::size_t i = 0; i < 3; ++i) {
    const PaintedBitmap::Plane& plane = bitmap.planes.at(i);
    if (wide) {
      BlendPlane<std::uint16_t>(plane, picture.data[i], picture.linesize[i]);
    } else {
      BlendPlane<std::uint8_t>(plane, picture.data[i], picture.linesize[i]);
    }
  }
}

}  // namespace gopmill
