// SPDX-License-Identifier: Apache-2.0
#include "media/output_size.h"

#include <gtest/gtest.h>

#include <ostream>

#include "tests/unit/target/source_fixture.h"

namespace gopmill {
namespace {

struct Case {
  const char* what;
  int width, height;
  Rational sar;
  int rotation;
  std::optional<int> asked_width, asked_height;
  Fit fit;
  int given_width, given_height;
  std::size_t adjustments;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.what; }

class OutputSizes : public ::testing::TestWithParam<Case> {};

TEST_P(OutputSizes, AreEvenAndKeepTheAspect) {
  const Case& c = GetParam();
  VideoInfo video = MakeSource().video;
  video.width = c.width;
  video.height = c.height;
  video.sample_aspect = c.sar;
  video.rotation = c.rotation;
  TargetRequest request;
  request.width = c.asked_width;
  request.height = c.asked_height;
  request.fit = c.fit;
  const OutputSize size = ChooseOutputSize(request, video);
  EXPECT_EQ(size.width, c.given_width) << c.what;
  EXPECT_EQ(size.height, c.given_height) << c.what;
  EXPECT_EQ(size.adjustments.size(), c.adjustments) << c.what;
  EXPECT_EQ(size.width % 2 + size.height % 2, 0) << c.what;
}

constexpr auto kNone = std::nullopt;
constexpr Rational kSquare{1, 1};

INSTANTIATE_TEST_SUITE_P(
    All, OutputSizes,
    ::testing::Values(
        Case{"source", 1280, 720, kSquare, 0, kNone, kNone, Fit::kFit, 1280, 720, 0},
        Case{"odd source", 853, 480, kSquare, 0, kNone, kNone, Fit::kFit, 854, 480, 1},
        Case{"turned", 1280, 720, kSquare, 90, kNone, kNone, Fit::kFit, 720, 1280, 0},
        Case{"upside down", 1280, 720, kSquare, 180, kNone, kNone, Fit::kFit, 1280, 720, 0},
        Case{"wide pixels", 720, 576, {16, 15}, 0, kNone, kNone, Fit::kFit, 768, 576, 0},
        Case{"narrow pixels", 720, 480, {8, 9}, 0, kNone, kNone, Fit::kFit, 640, 480, 0},
        Case{"wide pixels turned", 1440, 1080, {4, 3}, 270, kNone, kNone, Fit::kFit, 1080, 1920, 0},
        Case{"no sample aspect", 640, 360, {0, 1}, 0, kNone, kNone, Fit::kFit, 640, 360, 0},
        Case{"width only", 1280, 720, kSquare, 0, 640, kNone, Fit::kFit, 640, 360, 0},
        Case{"height only", 1280, 720, kSquare, 0, kNone, 360, Fit::kFit, 640, 360, 0},
        Case{"odd width", 1280, 720, kSquare, 0, 641, kNone, Fit::kFit, 640, 360, 1},
        Case{"480p clip", 854, 480, kSquare, 0, 640, 360, Fit::kFit, 640, 360, 0},
        Case{"box is taller", 1280, 720, kSquare, 0, 640, 480, Fit::kFit, 640, 360, 1},
        Case{"box is wider", 640, 480, kSquare, 0, 640, 360, Fit::kFit, 480, 360, 1},
        Case{"portrait in box", 720, 1280, kSquare, 0, 640, 360, Fit::kFit, 202, 360, 1},
        Case{"padded", 640, 480, kSquare, 0, 640, 360, Fit::kPad, 640, 360, 0},
        Case{"cropped", 640, 480, kSquare, 0, 641, 361, Fit::kCrop, 640, 360, 2},
        Case{"stretched", 640, 480, kSquare, 0, 16, 8192, Fit::kStretch, 16, 8192, 0},
        Case{"enlarged", 320, 180, kSquare, 0, 1280, 720, Fit::kFit, 1280, 720, 0}));

INSTANTIATE_TEST_SUITE_P(
    Extremes, OutputSizes,
    ::testing::Values(
        Case{"never zero", 8000, 8, kSquare, 0, 640, 360, Fit::kFit, 640, 16, 1},
        Case{"tall strip", 8, 8000, kSquare, 0, 640, 360, Fit::kFit, 16, 360, 1},
        Case{"width of a strip", 16, 4096, kSquare, 0, 8192, kNone, Fit::kFit, 32, 8192, 1},
        Case{"too large", 16384, 8192, kSquare, 0, kNone, kNone, Fit::kFit, 8192, 4096, 2},
        Case{"too small", 8, 8, kSquare, 0, kNone, kNone, Fit::kFit, 16, 16, 2},
        Case{"mad aspect", 100, 100, {2147483647, 1}, 0, kNone, kNone, Fit::kFit, 8192, 16, 2},
        Case{"mad aspect turned", 100, 100, {1, 2147483647}, 90, 64, 64, Fit::kFit, 64, 16, 1}));

}  // namespace
}  // namespace gopmill
