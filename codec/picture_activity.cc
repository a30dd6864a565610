// SPDX-License-Identifier: Apache-2.0
#include "codec/picture_activity.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace gopmill {
namespace {

constexpr int kRowStep = 8;
// Noise is told by parts of rows. Where most of them do not change at all (a title over a still,
// but not the bars above and below a film) there is none.
constexpr int kPart = 16;
constexpr double kCalmest = 0.1, kLeastNoisy = 0.5;

const std::uint8_t* Row(const AVFrame& frame, int y) {
  return frame.data[0] + std::ptrdiff_t{y} * frame.linesize[0];
}

template <class Sample>
int SampleAt(const std::uint8_t* row, int x) {
  Sample sample{};
  std::memcpy(&sample, row + static_cast<std::size_t>(x) * sizeof(Sample), sizeof(Sample));
  return static_cast<int>(sample);
}

// Sum of the absolute differences of two rows. A sum of 32 bits has room for 32,767 of the widest
// samples, and for bytes compilers know one instruction that adds such differences up.
template <class Sample>
std::int64_t RowDifference(const std::uint8_t* a, const std::uint8_t* b, int width) {
  int sum = 0;
  for (int x = 0; x < width; ++x) sum += std::abs(SampleAt<Sample>(a, x) - SampleAt<Sample>(b, x));
  return sum;
}

int DepthOf(const AVFrame& frame) {
  const AVPixFmtDescriptor* format = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  return format == nullptr ? 8 : format->comp[0].depth;
}

// Of each part of the row: the sum over its pixels of how much their differences differ from those
// of the pixels before.
template <class Sample>
void AddRoughness(const std::uint8_t* a, const std::uint8_t* b, int width,
                  std::vector<int>& parts) {
  for (int begin = 1; begin + kPart <= width; begin += kPart) {
    int sum = 0;
    for (int x = begin; x < begin + kPart; ++x) {
      sum += std::abs((SampleAt<Sample>(a, x) - SampleAt<Sample>(b, x)) -
                      (SampleAt<Sample>(a, x - 1) - SampleAt<Sample>(b, x - 1)));
    }
    if (sum > 0) parts.push_back(sum);
  }
}

}  // namespace

double SpatialActivity(const AVFrame& frame) {
  const int depth = DepthOf(frame), width = frame.width - 1;
  const auto size = static_cast<std::size_t>(depth > 8 ? 2 : 1);
  std::int64_t sum = 0, rows = 0;
  for (int y = 0; y < frame.height - 1; y += kRowStep, ++rows) {
    const std::uint8_t *row = Row(frame, y), *next = Row(frame, y + 1);
    sum += depth > 8 ? RowDifference<std::uint16_t>(row, row + size, width) +
                           RowDifference<std::uint16_t>(row, next, width)
                     : RowDifference<std::uint8_t>(row, row + size, width) +
                           RowDifference<std::uint8_t>(row, next, width);
  }
  const auto pixels = static_cast<double>(std::max<std::int64_t>(rows, 1) * frame.width);
  return static_cast<double>(sum) / pixels / std::exp2(depth - 8);
}

PictureChange ChangeBetween(const AVFrame& before, const AVFrame& frame) {
  const int depth = DepthOf(frame);
  std::vector<int> rough;
  std::int64_t sum = 0, rows = 0;
  for (int y = 0; y < frame.height; y += kRowStep, ++rows) {
    const std::uint8_t *a = Row(before, y), *b = Row(frame, y);
    if (depth > 8) {
      sum += RowDifference<std::uint16_t>(a, b, frame.width);
      AddRoughness<std::uint16_t>(a, b, frame.width, rough);
    } else {
      sum += RowDifference<std::uint8_t>(a, b, frame.width);
      AddRoughness<std::uint8_t>(a, b, frame.width, rough);
    }
  }
  const double step = std::exp2(depth - 8);
  const auto looked_at = static_cast<double>(rows * frame.width);
  PictureChange change{.mean = static_cast<double>(sum) / looked_at / step};
  const double parts = static_cast<double>(rows) * ((frame.width - 1) / kPart);
  const double noisy = static_cast<double>(rough.size()) / std::max(parts, 1.0);
  if (noisy < kLeastNoisy) return change;
  const auto calm =
      rough.begin() + static_cast<std::ptrdiff_t>(kCalmest * static_cast<double>(rough.size()));
  std::ranges::nth_element(rough, calm);
  change.noise = *calm / double{kPart} / step;
  change.noisy = noisy;
  return change;
}

}  // namespace gopmill
