// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "codec/bitmap_painter.h"
#include "codec/subtitle_burner.h"
#include "tests/unit/codec/test_frames.h"

namespace gopmill::picture_burner_test {
namespace {

using testing::LumaAt;
using testing::MakePlainFrame;
using testing::PixelHash;

constexpr int kGrey = 100;
constexpr std::uint32_t kWhite = 0xFFFFFFFF, kHalfWhite = 0x80FFFFFF, kRed = 0xFFFF0000;

Bitmap Plain(Rectangle where, std::uint32_t color) {
  Bitmap bitmap{
      .x = where.x, .y = where.y, .width = where.width, .height = where.height, .packed = {}};
  bitmap.palette.at(3) = color;
  bitmap.packed = Packed(std::vector<std::uint8_t>(
      static_cast<std::size_t>(where.width) * static_cast<std::size_t>(where.height), 3));
  return bitmap;
}

av::Frame Grey(int width, int height, int format = AV_PIX_FMT_YUV420P) {
  return MakePlainFrame(width, height, format, kGrey, 128, 128);
}

av::Frame With(const Bitmap& bitmap, Size canvas, const Rectangle& place, av::Frame picture) {
  Blend(PaintBitmap(bitmap, canvas, place, *picture), *picture);
  return picture;
}

int ChromaAt(const AVFrame& frame, int plane, int x, int y) {
  return frame.data[plane][y * frame.linesize[plane] + x];
}

TEST(BitmapPainter, PaintsTheRectangleAndNothingElse) {
  const auto drawn = With(Plain({8, 4, 16, 12}, kWhite), {64, 48}, {0, 0, 64, 48}, Grey(64, 48));
  for (int y = 0; y < 48; ++y) {
    for (int x = 0; x < 64; ++x) {
      const bool within = x >= 8 && x < 24 && y >= 4 && y < 16;
      ASSERT_EQ(LumaAt(*drawn, x, y), within ? 235 : kGrey) << x << ", " << y;
    }
  }
}

TEST(BitmapPainter, TakesTheMatrixOfPlayersWhereNoneIsStated) {
  const auto red = [](int lines, AVColorSpace matrix) {
    av::Frame picture = Grey(64, lines);
    picture->colorspace = matrix;
    const Rectangle all{0, 0, 64, lines};
    return PixelHash(*With(Plain(all, kRed), {64, lines}, all, std::move(picture)));
  };
  EXPECT_EQ(red(576, AVCOL_SPC_UNSPECIFIED), red(576, AVCOL_SPC_SMPTE170M));
  EXPECT_EQ(red(600, AVCOL_SPC_UNSPECIFIED), red(600, AVCOL_SPC_BT709));
}

TEST(BitmapPainter, LetsThroughWhatThePaletteSays) {
  const auto drawn =
      With(Plain({0, 0, 64, 48}, kHalfWhite), {64, 48}, {0, 0, 64, 48}, Grey(64, 48));
  EXPECT_NEAR(LumaAt(*drawn, 30, 20), kGrey + (235 - kGrey) * 128 / 255, 1);
  const auto untouched =
      With(Plain({0, 0, 64, 48}, 0x00FFFFFF), {64, 48}, {0, 0, 64, 48}, Grey(64, 48));
  EXPECT_EQ(PixelHash(*untouched), PixelHash(*Grey(64, 48)));
}

TEST(BitmapPainter, ScalesWithTheCanvas) {
  const auto drawn =
      With(Plain({80, 40, 160, 120}, kWhite), {640, 480}, {0, 0, 64, 48}, Grey(64, 48));
  EXPECT_EQ(LumaAt(*drawn, 8, 4), 235);
  EXPECT_EQ(LumaAt(*drawn, 23, 15), 235);
  EXPECT_EQ(LumaAt(*drawn, 7, 4), kGrey);
  EXPECT_EQ(LumaAt(*drawn, 24, 15), kGrey);
  EXPECT_EQ(LumaAt(*drawn, 8, 3), kGrey);
  EXPECT_EQ(LumaAt(*drawn, 23, 16), kGrey);
}

TEST(BitmapPainter, CoversPartsOfPixels) {
  const auto drawn = With(Plain({5, 0, 10, 10}, kWhite), {640, 480}, {0, 0, 64, 48}, Grey(64, 48));
  EXPECT_NEAR(LumaAt(*drawn, 0, 0), kGrey + (235 - kGrey) / 2, 1);
  EXPECT_NEAR(LumaAt(*drawn, 1, 0), kGrey + (235 - kGrey) / 2, 1);
  EXPECT_EQ(LumaAt(*drawn, 2, 0), kGrey);
}

TEST(BitmapPainter, IsEvenWhateverTheScale) {
  for (const int width : {37, 50, 64, 90, 333, 1000}) {
    const auto drawn =
        With(Plain({0, 0, 128, 96}, kWhite), {128, 96}, {0, 0, width, width}, Grey(width, width));
    for (int at = 0; at < width; ++at) ASSERT_EQ(LumaAt(*drawn, at, at), 235) << width;
  }
}

TEST(BitmapPainter, FillsAllWhereOnePixelBecomesMany) {
  const auto drawn = With(Plain({0, 0, 2, 2}, kWhite), {2, 2}, {0, 0, 640, 480}, Grey(640, 480));
  for (int at = 0; at < 480; ++at) ASSERT_EQ(LumaAt(*drawn, at, at), 235) << at;
}

TEST(BitmapPainter, ColorsAreThoseOfTheMatrix) {
  auto picture = Grey(64, 48);
  picture->colorspace = AVCOL_SPC_BT709;
  const auto drawn =
      With(Plain({0, 0, 64, 48}, kRed), {64, 48}, {0, 0, 64, 48}, std::move(picture));
  EXPECT_NEAR(LumaAt(*drawn, 10, 10), 63, 1);
  EXPECT_NEAR(ChromaAt(*drawn, 1, 5, 5), 102, 1);
  EXPECT_NEAR(ChromaAt(*drawn, 2, 5, 5), 240, 1);
  const auto old = With(Plain({0, 0, 64, 48}, kRed), {64, 48}, {0, 0, 64, 48}, Grey(64, 48));
  EXPECT_NEAR(LumaAt(*old, 10, 10), 81, 1);
}

TEST(BitmapPainter, WhiteIsThatOfPaperWithAHighDynamicRange) {
  auto picture = Grey(64, 48, AV_PIX_FMT_YUV420P10);
  picture->color_trc = AVCOL_TRC_SMPTE2084;
  const auto drawn =
      With(Plain({0, 0, 64, 48}, kWhite), {64, 48}, {0, 0, 64, 48}, std::move(picture));
  EXPECT_NEAR(LumaAt(*drawn, 10, 10), 16 + 219 * 0.58, 1);
}

TEST(BitmapPainter, TakesTheFormatsThatEncodersTake) {
  for (const AVPixelFormat format :
       {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUV444P,
        AV_PIX_FMT_YUV420P10, AV_PIX_FMT_YUV422P10}) {
    ASSERT_TRUE(CanBePainted(format)) << format;
    const auto drawn =
        With(Plain({8, 4, 16, 12}, kWhite), {64, 48}, {0, 0, 64, 48}, Grey(64, 48, format));
    EXPECT_EQ(LumaAt(*drawn, 8, 4), 235) << format;
    EXPECT_EQ(LumaAt(*drawn, 7, 4), kGrey) << format;
  }
  EXPECT_FALSE(CanBePainted(AV_PIX_FMT_RGB24));
  EXPECT_FALSE(CanBePainted(AV_PIX_FMT_NV12));
  EXPECT_FALSE(CanBePainted(AV_PIX_FMT_YUV420P16));
  EXPECT_FALSE(CanBePainted(AV_PIX_FMT_NONE));
}

TEST(BitmapPainter, WhatReachesOverTheBorderIsCut) {
  for (const Rectangle& where : {Rectangle{-10, -10, 20, 20}, Rectangle{60, 44, 20, 20},
                                 Rectangle{-500, 0, 2000, 10}, Rectangle{500, 500, 20, 20}}) {
    With(Plain(where, kWhite), {64, 48}, {0, 0, 64, 48}, Grey(64, 48));
  }
  const auto drawn =
      With(Plain({-10, -10, 20, 20}, kWhite), {64, 48}, {0, 0, 64, 48}, Grey(64, 48));
  EXPECT_EQ(LumaAt(*drawn, 9, 9), 235);
  EXPECT_EQ(LumaAt(*drawn, 10, 10), kGrey);
}

TEST(BitmapPainter, TwoInOneAreAsOneOverTheOther) {
  const Bitmap below = Plain({8, 4, 16, 12}, kRed), above = Plain({12, 8, 40, 30}, kHalfWhite);
  const Rectangle place{0, 0, 64, 48};
  auto one_by_one = With(below, {64, 48}, place, Grey(64, 48));
  one_by_one = With(above, {64, 48}, place, std::move(one_by_one));
  auto together = Grey(64, 48);
  const PaintedBitmap both = Over(PaintBitmap(below, {64, 48}, place, *together),
                                  PaintBitmap(above, {64, 48}, place, *together));
  Blend(both, *together);
  EXPECT_EQ(both.planes[0].place, (Rectangle{7, 3, 47, 37}));
  for (int y = 0; y < 48; ++y) {
    for (int x = 0; x < 64; ++x) {
      ASSERT_NEAR(LumaAt(*together, x, y), LumaAt(*one_by_one, x, y), 1) << x << ", " << y;
    }
  }
}

TEST(PictureBurner, HoldsNoMoreThanThePictureHas) {
  SubtitleTrack track;
  auto bitmaps = std::make_shared<SubtitleBitmaps>();
  bitmaps->width = bitmaps->height = 2;
  bitmaps->cues.push_back({.start_us = 0, .end_us = 1'000'000, .bitmaps = {}});
  for (int i = 0; i < 64; ++i) {
    bitmaps->cues.back().bitmaps.push_back(Plain({0, 0, 2, 2}, i == 0 ? kRed : kHalfWhite));
  }
  track.bitmaps = bitmaps;
  const av::Frame grey = Grey(640, 480);
  auto burner = SubtitleBurner::Open(MakeScript(track), OutputGrid({10, 1}, {10, 1}, {1, 1000}, 0),
                                     *grey, {.area = {0, 0, 640, 480}, .source = {640, 480}});
  ASSERT_TRUE(burner.ok());
  auto drawn = (*burner)->Draw(*grey, 0);
  ASSERT_TRUE(drawn.ok());
  EXPECT_GT(LumaAt(**drawn, 320, 240), 200) << "red, and white over it some times";
}

TEST(BitmapPainter, LargestSumsFit) {
  const auto drawn = With(Plain({0, 0, 4096, 4096}, kWhite), {4096, 4096}, {0, 0, 2, 2},
                          Grey(16, 16, AV_PIX_FMT_YUV420P10));
  EXPECT_EQ(LumaAt(*drawn, 0, 0), 235);
  EXPECT_EQ(LumaAt(*drawn, 1, 1), 235);
  EXPECT_EQ(LumaAt(*drawn, 2, 2), kGrey);
}

constexpr Size kWide{1920, 1080};

PictureArea Area(Rectangle area, Size source) { return {.area = area, .source = source}; }

TEST(PlaceCanvas, LiesOverThePictureItWasMadeFor) {
  const Rectangle whole{0, 0, 640, 360};
  EXPECT_EQ(PlaceCanvas(kWide, true, Area(whole, kWide)), whole);
  EXPECT_EQ(PlaceCanvas({}, true, Area(whole, kWide)), whole);
  EXPECT_EQ(PlaceCanvas({720, 576}, false, Area(whole, kWide)), whole) << "as in any shape";
  const Rectangle between_bars{0, 60, 640, 360};
  EXPECT_EQ(PlaceCanvas(kWide, true, Area(between_bars, kWide)), between_bars);
}

TEST(PlaceCanvas, FitsIntoAPictureThatWasCut) {
  EXPECT_EQ(PlaceCanvas(kWide, true, Area({0, 0, 1920, 800}, {1920, 800})),
            (Rectangle{249, 0, 1422, 800}));
  EXPECT_EQ(PlaceCanvas(kWide, true, Area({0, 0, 360, 360}, kWide)),
            (Rectangle{0, 360 - 203, 360, 203}));
}

TEST(PlaceCanvas, KnowsPixelsThatAreNotSquare) {
  PictureArea where = Area({0, 0, 720, 576}, {720, 576});
  where.source_sample_aspect = where.sample_aspect = {64, 45};
  EXPECT_EQ(PlaceCanvas({720, 576}, false, where), where.area);
  EXPECT_EQ(PlaceCanvas(kWide, true, where), where.area) << "16:9 both";
  EXPECT_EQ(PlaceCanvas({720, 576}, true, where), where.area) << "it is the source's picture";
}

TEST(PlaceCanvas, NoShapeIsTooStrange) {
  EXPECT_EQ(PlaceCanvas({8192, 1}, true, Area({0, 0, 64, 48}, kWide)), (Rectangle{0, 47, 64, 1}));
  EXPECT_GT(PlaceCanvas({1, 8192}, true, Area({0, 0, 64, 48}, kWide)).width, 0);
}

const OutputGrid kGrid({10, 1}, {10, 1}, {1, 1000}, 0);

TEST(PictureBurner, DrawsWhatIsShownAtATime) {
  SubtitleTrack track;
  auto bitmaps = std::make_shared<SubtitleBitmaps>();
  bitmaps->width = 64;
  bitmaps->height = 48;
  bitmaps->cues.push_back({.start_us = 1'000'000, .end_us = 2'000'000, .bitmaps = {}});
  bitmaps->cues.back().bitmaps.push_back(Plain({0, 24, 64, 24}, kWhite));
  bitmaps->cues.back().bitmaps.push_back(Plain({0, 24, 8, 24}, kRed));
  bitmaps->cues.push_back({.start_us = 2'000'000, .end_us = 3'000'000, .bitmaps = {}});
  bitmaps->cues.back().bitmaps.push_back(Plain({0, 0, 64, 24}, kWhite));
  track.bitmaps = bitmaps;
  const auto script = MakeScript(track);
  const av::Frame grey = Grey(64, 48);
  grey->pts = 7;
  auto burner = SubtitleBurner::Open(script, kGrid, *grey, Area({0, 0, 64, 48}, {64, 48}));
  ASSERT_TRUE(burner.ok()) << burner.error().ToString();
  const auto luma = [&](std::int64_t n, int x, int y) {
    auto drawn = (*burner)->Draw(*grey, n);
    EXPECT_TRUE(drawn.ok());
    EXPECT_EQ((*drawn)->pts, 7);
    return LumaAt(**drawn, x, y);
  };
  EXPECT_EQ(luma(9, 32, 30), kGrey);
  EXPECT_EQ(luma(10, 32, 30), 235);
  EXPECT_EQ(luma(10, 2, 30), 81) << "the later bitmap lies over the earlier one";
  EXPECT_EQ(luma(10, 32, 10), kGrey);
  EXPECT_EQ(luma(20, 32, 10), 235);
  EXPECT_EQ(luma(20, 32, 30), kGrey);
  EXPECT_EQ(luma(30, 32, 10), kGrey);
  EXPECT_EQ(PixelHash(*grey), PixelHash(*Grey(64, 48))) << "the picture itself stays";
}

}  // namespace
}  // namespace gopmill::picture_burner_test
