// SPDX-License-Identifier: Apache-2.0
#include "codec/subtitle_burner.h"

extern "C" {
#include <libavutil/cpu.h>
#include <libavutil/pixdesc.h>
}

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "tests/unit/codec/test_frames.h"

namespace gopmill {
namespace {

using testing::LumaAt;
using testing::MakePlainFrame;
using testing::PixelHash;

constexpr int kWidth = 320, kHeight = 180, kGrey = 128;
constexpr std::int64_t kSecond = 1'000'000;

SubtitleCue CueOf(std::int64_t start_us, std::int64_t end_us, const std::string& words) {
  return {.start_us = start_us, .end_us = end_us, .text = "0,0,Default,,0,0,0,," + words};
}

std::shared_ptr<const SubtitleScript> ScriptOf(const std::vector<SubtitleCue>& cues) {
  SubtitleTrack track;
  track.header =
      "[Script Info]\nPlayResX: 320\nPlayResY: 180\n[V4+ Styles]\nFormat: Name, Fontname, "
      "Fontsize, "
      "PrimaryColour, Bold, Alignment\nStyle: Default,DejaVu Sans,40,&H00FFFFFF,1,2\n";
  track.cues = cues;
  return MakeScript(track);
}
std::shared_ptr<const SubtitleScript> ScriptOf(const std::string& words) {
  return ScriptOf({CueOf(kSecond, 2 * kSecond, words)});
}

const OutputGrid kGrid({10, 1}, {10, 1}, {1, 1000}, 0);

PictureArea WholeOf(const AVFrame& picture) {
  return {.area = {.width = picture.width, .height = picture.height},
          .source = {picture.width, picture.height}};
}

std::unique_ptr<SubtitleBurner> Open(const std::shared_ptr<const SubtitleScript>& script,
                                     const AVFrame& picture) {
  auto burner = SubtitleBurner::Open(script, kGrid, picture, WholeOf(picture));
  EXPECT_TRUE(burner.ok()) << burner.error().ToString();
  return std::move(burner).value();
}

av::Frame Drawn(SubtitleBurner& burner, const AVFrame& picture, std::int64_t n) {
  auto drawn = burner.Draw(picture, n);
  EXPECT_TRUE(drawn.ok()) << drawn.error().ToString();
  return std::move(drawn).value();
}

int Brightest(const AVFrame& frame, int top, int bottom) {
  int most = 0;
  for (int y = top; y < bottom; ++y) {
    for (int x = 0; x < frame.width; ++x) most = std::max(most, LumaAt(frame, x, y));
  }
  return most;
}

class SubtitleBurnerTest : public ::testing::TestWithParam<AVPixelFormat> {};

TEST_P(SubtitleBurnerTest, DrawsTheWordsAtTheirTimeAndPlace) {
  const av::Frame grey = MakePlainFrame(kWidth, kHeight, GetParam(), kGrey, 128, 128);
  grey->pts = 7;
  const auto burner = Open(ScriptOf("WORDS"), *grey);
  const av::Frame shown = Drawn(*burner, *grey, 10);
  EXPECT_GT(Brightest(*shown, kHeight / 2, kHeight), 220);
  EXPECT_EQ(Brightest(*shown, 0, kHeight / 2), kGrey) << "the upper half is as it was";
  EXPECT_EQ(shown->pts, 7);
  EXPECT_EQ(shown->format, GetParam());
  EXPECT_EQ(PixelHash(*grey),
            PixelHash(*MakePlainFrame(kWidth, kHeight, GetParam(), kGrey, 128, 128)))
      << "the picture that was given is not touched";
  EXPECT_NE(PixelHash(*Drawn(*burner, *grey, 19)), PixelHash(*grey));
  for (const std::int64_t n : {20, 21, 500}) {
    EXPECT_EQ(PixelHash(*Drawn(*burner, *grey, n)), PixelHash(*grey)) << n;
  }
  EXPECT_EQ(PixelHash(*Drawn(*Open(ScriptOf("WORDS"), *grey), *grey, 9)), PixelHash(*grey));
}

INSTANTIATE_TEST_SUITE_P(Formats, SubtitleBurnerTest,
                         ::testing::Values(AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P10LE),
                         [](const auto& format) {
                           return std::string(av_get_pix_fmt_name(format.param));
                         });

TEST(SubtitleBurner, DrawsTheSameOnEveryCpu) {
  const auto script = ScriptOf("{\\blur3\\3c&H0000FF&\\fscx150\\frz20}Ground {\\i1}truth");
  const av::Frame picture = testing::MakeFrame({.width = kWidth, .height = kHeight}, 3);
  const std::uint64_t expected = PixelHash(*Drawn(*Open(script, *picture), *picture, 10));
  EXPECT_NE(expected, PixelHash(*picture));
  av_force_cpu_flags(0);
  EXPECT_EQ(PixelHash(*Drawn(*Open(script, *picture), *picture, 10)), expected);
  av_force_cpu_flags(-1);
}

// A cue that was placed above another long ago, and many short ones since.
TEST(SubtitleBurner, RemembersWhereACueWasPutLongAgo) {
  std::vector<SubtitleCue> cues{CueOf(0, 5 * kSecond, "first"),
                                CueOf(kSecond, 60 * kSecond, "long")};
  for (int i = 0; i < 140; ++i) {
    const std::int64_t start = 6 * kSecond + i * 300'000;
    cues.push_back(CueOf(start, start + 300'000, "{\\fs10}short"));
  }
  const auto script = ScriptOf(cues);
  const av::Frame grey = MakePlainFrame(kWidth, kHeight, AV_PIX_FMT_YUV420P, kGrey, 128, 128);
  const auto all = Open(script, *grey);
  std::uint64_t expected = 0;
  for (std::int64_t n = 0; n <= 480; ++n) expected = PixelHash(*Drawn(*all, *grey, n));
  EXPECT_EQ(PixelHash(*Drawn(*Open(script, *grey), *grey, 480)), expected);
}

// Cues that overlap in time, and would in place: where one is put depends on those before.
TEST(SubtitleBurner, DrawsTheSameWhereverItBegins) {
  const auto script = ScriptOf(
      {CueOf(0, 10 * kSecond, "first"), CueOf(5 * kSecond, 15 * kSecond, "second"),
       CueOf(5'010'000, 20 * kSecond, "third"), CueOf(12 * kSecond, 18 * kSecond, "fourth")});
  const av::Frame grey = MakePlainFrame(kWidth, kHeight, AV_PIX_FMT_YUV420P, kGrey, 128, 128);
  const auto all = Open(script, *grey);
  std::vector<std::uint64_t> expected;
  for (std::int64_t n = 0; n < 200; ++n) expected.push_back(PixelHash(*Drawn(*all, *grey, n)));
  for (const std::size_t begin : {30U, 50U, 51U, 99U, 100U, 120U, 130U, 151U, 190U}) {
    const auto burner = Open(script, *grey);
    for (const std::size_t n : {begin, begin + 1, begin + 9}) {
      EXPECT_EQ(PixelHash(*Drawn(*burner, *grey, static_cast<std::int64_t>(n))), expected.at(n))
          << n << " from " << begin;
    }
  }
}

TEST(SubtitleBurner, ColoursAreThoseOfTheScript) {
  const av::Frame grey = MakePlainFrame(kWidth, kHeight, AV_PIX_FMT_YUV420P, kGrey, 128, 128);
  const av::Frame shown =
      Drawn(*Open(ScriptOf("{\\c&H0000FF&\\bord0\\shad0}#####"), *grey), *grey, 10);
  int reddest = 0;
  for (int y = 0; y < kHeight / 2; ++y) {
    const std::uint8_t* row = shown->data[2] + y * shown->linesize[2];
    reddest = std::max<int>(reddest, *std::max_element(row, row + kWidth / 2));
  }
  EXPECT_GT(reddest, 220) << "V of red";
}

TEST(SubtitleBurner, WhiteIsThatOfTheRange) {
  for (const auto& [range, white] : {std::pair{AVCOL_RANGE_MPEG, 235}, {AVCOL_RANGE_JPEG, 255}}) {
    const av::Frame grey = MakePlainFrame(kWidth, kHeight, AV_PIX_FMT_YUV420P, kGrey, 128, 128);
    grey->color_range = range;
    const av::Frame shown = Drawn(*Open(ScriptOf("{\\bord0\\shad0}#####"), *grey), *grey, 10);
    EXPECT_NEAR(Brightest(*shown, 0, kHeight), white, 1);
    EXPECT_EQ(shown->format, AV_PIX_FMT_YUV420P);
    EXPECT_EQ(shown->color_range, range);
  }
}

TEST(SubtitleBurner, ScriptsOfRubbishHarmNothing) {
  const av::Frame grey = MakePlainFrame(kWidth, kHeight, AV_PIX_FMT_YUV420P, kGrey, 128, 128);
  const TimePoint begin = SteadyNow();
  for (const char* words :
       {"{\\p1}m 0 0 l 99999999 -99999999 b 1 2 3", "{\\fs99999999}x", "{\\t(", "\xff\xfe\x80",
        "{\\clip(m 0 0 l 1e9 1e9)}x", "{\\fnNo such font}x", "{\\blur1000\\be1000\\bord9999}x",
        "{\\fscx0\\fscy-5}x", "{\\k9999999999}x"}) {
    const auto burner = Open(ScriptOf(words), *grey);
    EXPECT_EQ(Drawn(*burner, *grey, 10)->width, kWidth) << words;
  }
  // One of these took 14 s and 2 GB before sizes were limited; it takes a tenth of a second now.
  EXPECT_LT(SteadyNow() - begin, FromSeconds(10));
}

}  // namespace
}  // namespace gopmill
