// SPDX-License-Identifier: Apache-2.0
//
// What zimg makes of a picture is what its plain C code makes of it, so it is the same on every
// CPU: FFmpeg cannot tell it to do without vector instructions, its own interface can.
#include "codec/scaling.h"

extern "C" {
#include <libavutil/cpu.h>
#include <libavutil/pixdesc.h>
}

#include <gtest/gtest.h>
#include <zimg.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <tuple>
#include <vector>

#include "tests/unit/codec/test_frames.h"

namespace gopmill {
namespace {

using testing::MakeFrame;
using testing::PixelHash;

FilterSpec ScalingOf(const AVFrame& frame, int width, int height) {
  return FilterSpec{.in_width = frame.width,
                    .in_height = frame.height,
                    .in_format = frame.format,
                    .in_color_range = AVCOL_RANGE_MPEG,
                    .in_chroma_location = frame.chroma_location,
                    .width = width,
                    .height = height,
                    .format = frame.format,
                    .fit = Fit::kStretch};
}

bool ByZimg(const FilterSpec& spec) {
  const Size source{spec.in_width, spec.in_height}, output{spec.width, spec.height};
  return ScalerFor(spec, PlacePicture(source, spec.in_sample_aspect, output, spec.fit)).zimg;
}

av::Frame Scaled(const FilterSpec& spec, const AVFrame& frame) {
  av::Frame out = av::NewFrame();
  auto filter = FrameFilter::Open(spec);
  EXPECT_TRUE(filter.ok()) << filter.error().ToString();
  const auto got = (*filter)->Filter(&frame, *out);
  EXPECT_TRUE(got.ok() && *got);
  return out;
}

zimg_image_format FormatOf(const AVFrame& frame, zimg_chroma_location_e chroma) {
  const AVPixFmtDescriptor& described =
      *av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  zimg_image_format format;
  zimg_image_format_default(&format, ZIMG_API_VERSION);
  format.width = static_cast<unsigned>(frame.width);
  format.height = static_cast<unsigned>(frame.height);
  format.subsample_w = described.log2_chroma_w;
  format.subsample_h = described.log2_chroma_h;
  format.depth = static_cast<unsigned>(described.comp[0].depth);
  format.pixel_type = format.depth > 8 ? ZIMG_PIXEL_WORD : ZIMG_PIXEL_BYTE;
  format.color_family = ZIMG_COLOR_YUV;
  format.pixel_range = ZIMG_RANGE_LIMITED;
  format.chroma_location = chroma;
  return format;
}

// By the library itself, without a vector instruction.
av::Frame InPlainC(const AVFrame& frame, int width, int height, zimg_chroma_location_e chroma) {
  av::Frame out = testing::MakePlainFrame(width, height, frame.format, 0, 0, 0);
  const zimg_image_format from = FormatOf(frame, chroma), to = FormatOf(*out, chroma);
  zimg_graph_builder_params params;
  zimg_graph_builder_params_default(&params, ZIMG_API_VERSION);
  params.cpu_type = ZIMG_CPU_NONE;
  params.resample_filter = params.resample_filter_uv = ZIMG_RESIZE_BICUBIC;
  params.filter_param_a = params.filter_param_a_uv = 0;
  params.filter_param_b = params.filter_param_b_uv = 0.6;
  const std::unique_ptr<zimg_filter_graph, decltype(&zimg_filter_graph_free)> graph(
      zimg_filter_graph_build(&from, &to, &params), zimg_filter_graph_free);
  EXPECT_NE(graph, nullptr);
  std::size_t bytes = 0;
  zimg_filter_graph_get_tmp_size(graph.get(), &bytes);
  const std::unique_ptr<std::uint8_t, decltype(&av_free)> room(
      static_cast<std::uint8_t*>(av_malloc(bytes)), av_free);
  zimg_image_buffer_const source{.version = ZIMG_API_VERSION, .plane = {}};
  zimg_image_buffer target{.version = ZIMG_API_VERSION, .plane = {}};
  for (int plane = 0; plane < 3; ++plane) {
    source.plane[plane] = {frame.data[plane], frame.linesize[plane], ZIMG_BUFFER_MAX};
    target.plane[plane] = {out->data[plane], out->linesize[plane], ZIMG_BUFFER_MAX};
  }
  EXPECT_EQ(zimg_filter_graph_process(graph.get(), &source, &target, room.get(), nullptr, nullptr,
                                      nullptr, nullptr),
            ZIMG_ERROR_SUCCESS);
  return out;
}

class ZimgScaling : public ::testing::TestWithParam<std::tuple<AVPixelFormat, Size>> {};

TEST_P(ZimgScaling, IsThatOfPlainC) {
  const auto [format, size] = GetParam();
  const struct {
    AVChromaLocation ours;
    zimg_chroma_location_e theirs;
  } places[] = {{AVCHROMA_LOC_UNSPECIFIED, ZIMG_CHROMA_LEFT},
                {AVCHROMA_LOC_LEFT, ZIMG_CHROMA_LEFT},
                {AVCHROMA_LOC_CENTER, ZIMG_CHROMA_CENTER},
                {AVCHROMA_LOC_TOPLEFT, ZIMG_CHROMA_TOP_LEFT}};
  for (const auto& place : places) {
    const av::Frame frame =
        MakeFrame({.width = 352, .height = 240, .format = format, .noise = 40}, 3);
    frame->chroma_location = place.ours;
    const FilterSpec spec = ScalingOf(*frame, size.width, size.height);
    ASSERT_TRUE(ByZimg(spec));
    EXPECT_EQ(PixelHash(*Scaled(spec, *frame)),
              PixelHash(*InPlainC(*frame, size.width, size.height, place.theirs)))
        << "chroma " << place.ours;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, ZimgScaling,
    ::testing::Combine(::testing::Values(AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P10),
                       ::testing::Values(Size{704, 576}, Size{128, 96}, Size{178, 240},
                                         Size{1280, 720}, Size{16, 16})));

TEST(MatrixMeant, IsThatOfPlayersWhereNoneIsStated) {
  EXPECT_EQ(MatrixMeant(AVCOL_SPC_UNSPECIFIED, 576), AVCOL_SPC_SMPTE170M);
  EXPECT_EQ(MatrixMeant(AVCOL_SPC_UNSPECIFIED, 600), AVCOL_SPC_BT709);
  EXPECT_EQ(MatrixMeant(AVCOL_SPC_BT470BG, 1080), AVCOL_SPC_BT470BG);
  EXPECT_EQ(MatrixMeant(AVCOL_SPC_BT2020_NCL, 480), AVCOL_SPC_BT2020_NCL);
}

TEST(ZimgScaling, IgnoresWhatColoursAreSaidToBe) {
  const av::Frame frame = MakeFrame({.width = 160, .height = 120}, 0);
  const auto usual = PixelHash(*Scaled(ScalingOf(*frame, 80, 60), *frame));
  frame->colorspace = AVCOL_SPC_RGB;  // of a YUV picture: nonsense that files do have
  frame->color_trc = AVCOL_TRC_SMPTE2084;
  frame->color_primaries = AVCOL_PRI_BT2020;
  const av::Frame out = Scaled(ScalingOf(*frame, 80, 60), *frame);
  EXPECT_EQ(PixelHash(*out), usual);
  EXPECT_EQ(out->colorspace, AVCOL_SPC_RGB);
  EXPECT_EQ(out->color_trc, AVCOL_TRC_SMPTE2084);
  EXPECT_EQ(out->color_primaries, AVCOL_PRI_BT2020);
}

// Of the chroma away from the edges, 8-bit steps.
double ChromaApart(const AVFrame& a, const AVFrame& b) {
  double sum = 0;
  int count = 0;
  for (int plane = 1; plane < 3; ++plane) {
    for (int y = 4; y < a.height / 2 - 4; ++y) {
      for (int x = 4; x < a.width / 2 - 4; ++x, ++count) {
        sum += std::abs(a.data[plane][y * a.linesize[plane] + x] -
                        b.data[plane][y * b.linesize[plane] + x]);
      }
    }
  }
  return sum / count;
}

class ChromaPlaces : public ::testing::TestWithParam<AVChromaLocation> {};

TEST_P(ChromaPlaces, AreTheSameForBothLibraries) {
  const av::Frame frame = testing::MakePlainFrame(352, 240, AV_PIX_FMT_YUV420P, 128, 128, 128);
  for (int plane = 1; plane < 3; ++plane) {
    for (int y = 0; y < frame->height / 2; ++y) {
      for (int x = 0; x < frame->width / 2; ++x) {
        const double wave = std::sin(x / 3.0) + std::sin(y / 3.0);
        frame->data[plane][y * frame->linesize[plane] + x] =
            static_cast<std::uint8_t>(128 + 50 * wave);
      }
    }
  }
  frame->chroma_location = GetParam();
  for (const Size size : {Size{160, 112}, Size{704, 576}}) {
    const FilterSpec by_zimg = ScalingOf(*frame, size.width, size.height);
    FilterSpec by_swscale = by_zimg;
    by_swscale.in_color_range = AVCOL_RANGE_JPEG;  // the same numbers
    ASSERT_TRUE(ByZimg(by_zimg) && !ByZimg(by_swscale));
    EXPECT_LT(ChromaApart(*Scaled(by_zimg, *frame), *Scaled(by_swscale, *frame)), 0.1)
        << "to " << size.width;
  }
}

INSTANTIATE_TEST_SUITE_P(Locations, ChromaPlaces,
                         ::testing::Values(AVCHROMA_LOC_UNSPECIFIED, AVCHROMA_LOC_LEFT,
                                           AVCHROMA_LOC_CENTER, AVCHROMA_LOC_TOPLEFT));

// Chroma that rises evenly over the source, at a place in luma samples.
double Slope(double x, double y) { return 10 + 2.4 * x + 2.4 * y; }

// The place in the source of one in the picture that was turned, as FilterSpec says.
std::pair<double, double> BeforeTurning(const FilterSpec& spec, double x, double y) {
  const double right = spec.in_width - 1, bottom = spec.in_height - 1;
  std::pair<double, double> place{x, y};
  if (spec.rotation == 90) place = {y, bottom - x};
  if (spec.rotation == 180) place = {right - x, bottom - y};
  if (spec.rotation == 270) place = {right - y, x};
  if (spec.mirrored) place.first = right - place.first;
  return place;
}

// How far chroma that lies left in the picture is from where the slope has it, away from the edges.
double OffTheSlope(const FilterSpec& spec, const AVFrame& out) {
  const bool turned = spec.rotation % 180 != 0;
  const double scale = static_cast<double>(out.width) / (turned ? spec.in_height : spec.in_width);
  double worst = 0;
  for (int row = 4; row < out.height / 2 - 4; ++row) {
    for (int column = 4; column < out.width / 2 - 4; ++column) {
      const auto [x, y] =
          BeforeTurning(spec, (2 * column + 0.5) / scale - 0.5, (2 * row + 1) / scale - 0.5);
      worst = std::max(worst, std::abs(out.data[1][row * out.linesize[1] + column] - Slope(x, y)));
    }
  }
  return worst;
}

class TurnedChroma : public ::testing::TestWithParam<AVPixelFormat> {};

TEST_P(TurnedChroma, StaysWhereItWas) {
  const av::Frame frame = testing::MakePlainFrame(64, 32, GetParam(), 128, 128, 128);
  const int high = av_pix_fmt_desc_get(GetParam())->log2_chroma_h;
  for (int y = 0; y < frame->height >> high; ++y) {
    for (int x = 0; x < frame->width / 2; ++x) {
      frame->data[1][y * frame->linesize[1] + x] =
          static_cast<std::uint8_t>(std::lround(Slope(2 * x, high > 0 ? 2 * y + 0.5 : y)));
    }
  }
  for (const int rotation : {0, 90, 180, 270}) {
    for (const bool mirrored : {false, true}) {
      const bool turned = rotation % 180 != 0;
      FilterSpec spec = ScalingOf(*frame, turned ? 64 : 128, turned ? 128 : 64);
      spec.format = AV_PIX_FMT_YUV420P;
      spec.rotation = rotation;
      spec.mirrored = mirrored;
      EXPECT_LT(OffTheSlope(spec, *Scaled(spec, *frame)), 1.5) << rotation << ' ' << mirrored;
      spec.in_color_range = AVCOL_RANGE_JPEG;
      EXPECT_LT(OffTheSlope(spec, *Scaled(spec, *frame)), 1.5) << rotation << " by swscale";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, TurnedChroma,
                         ::testing::Values(AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P));

TEST(TurnedPictures, AreTheSameOnEveryCpuWhateverTheirChroma) {
  const int normal = av_get_cpu_flags();
  for (const AVPixelFormat format :
       {AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUV422P10, AV_PIX_FMT_YUV411P, AV_PIX_FMT_YUV440P}) {
    const av::Frame frame =
        MakeFrame({.width = 160, .height = 96, .format = format, .noise = 40}, 2);
    FilterSpec spec = ScalingOf(*frame, 72, 120);
    spec.rotation = 90;
    spec.format = AV_PIX_FMT_YUV420P;
    const auto usual = PixelHash(*Scaled(spec, *frame));
    av_force_cpu_flags(0);
    EXPECT_EQ(PixelHash(*Scaled(spec, *frame)), usual) << av_get_pix_fmt_name(format);
    av_force_cpu_flags(normal);
  }
}

// Where chroma crosses its middle in a picture of chroma that is wider than luma, in luma samples.
double ChromaEdge(const AVFrame& frame) {
  const int shift = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format))->log2_chroma_w;
  const std::uint8_t* row = frame.data[1] + std::ptrdiff_t{4} * frame.linesize[1];
  for (int x = 1; x << shift < frame.width; ++x) {
    if (row[x] < 128) continue;
    return ((x - 1) + (128.0 - row[x - 1]) / (row[x] - row[x - 1])) * (1 << shift);
  }
  return -1;
}

// NTSC DV has a sample of chroma for four of luma, and the first of both lie on each other.
TEST(SwscaleScaling, KeepsColourEdgesInPlaceWhereChromaIsFourTimesAsWide) {
  const av::Frame frame = testing::MakePlainFrame(64, 32, AV_PIX_FMT_YUV411P, 128, 64, 128);
  for (int y = 0; y < frame->height; ++y) {
    for (int x = 8; x < frame->width / 4; ++x) frame->data[1][y * frame->linesize[1] + x] = 192;
  }
  FilterSpec spec = ScalingOf(*frame, frame->width, frame->height);
  spec.format = AV_PIX_FMT_YUV420P;
  for (const AVChromaLocation place : {AVCHROMA_LOC_UNSPECIFIED, AVCHROMA_LOC_LEFT}) {
    spec.in_chroma_location = place;
    EXPECT_NEAR(ChromaEdge(*Scaled(spec, *frame)), ChromaEdge(*frame), 0.2) << place;
  }
  // Centred ones lie 1.5 samples of luma behind the first of four, and half a one of two.
  spec.in_chroma_location = AVCHROMA_LOC_CENTER;
  EXPECT_NEAR(ChromaEdge(*Scaled(spec, *frame)) + 0.5, ChromaEdge(*frame) + 1.5, 0.2);
}

TEST(ZimgScaling, IsLeftToSwscaleWhereMoreThanTheSizeChanges) {
  const av::Frame frame = MakeFrame({.width = 160, .height = 120}, 0);
  const FilterSpec smaller = ScalingOf(*frame, 80, 60);
  EXPECT_TRUE(ByZimg(smaller));
  FilterSpec spec = smaller;
  spec.in_color_range = AVCOL_RANGE_JPEG;
  EXPECT_FALSE(ByZimg(spec)) << "full range is not a matter of shifts";
  spec = smaller;
  spec.in_format = AV_PIX_FMT_YUV420P10;
  EXPECT_FALSE(ByZimg(spec));
  spec = smaller;
  spec.deinterlace = Deinterlace::kAuto;
  EXPECT_FALSE(ByZimg(spec));
  EXPECT_FALSE(ByZimg(ScalingOf(*frame, 160, 60))) << "the height alone";
  EXPECT_FALSE(ByZimg(ScalingOf(*frame, 80, 8))) << "fewer lines than its kernels may have";
  EXPECT_FALSE(ByZimg(ScalingOf(*MakeFrame({.width = 159, .height = 120}, 0), 80, 60)));
}

}  // namespace
}  // namespace gopmill
