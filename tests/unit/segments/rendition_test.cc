// SPDX-License-Identifier: Apache-2.0
//
// Which renditions a source gets.
#include "server/segments/rendition.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gopmill {
namespace {

SourceInfo SourceOf(int width, int height, Rational sample_aspect = {1, 1}, int rotation = 0) {
  SourceInfo source;
  source.video.width = width;
  source.video.height = height;
  source.video.sample_aspect = sample_aspect;
  source.video.rotation = rotation;
  source.video.fps = {25, 1};
  return source;
}

std::vector<RenditionTarget> RenditionsOf(const SourceInfo& source, const RequestParams& params) {
  SegmentDefaults defaults;
  defaults.ladder =
      ParseRungs("1920x1080:4500k,1280x720:2500k,640x360:700k,426x240:350k", "").value();
  const auto request = ParseSegmentParams(params, defaults);
  return ResolveRenditions(request.value(), {}, source).value();
}

// The sizes as in "1920x1080 1280x720".
std::string SizesOf(const SourceInfo& source, const RequestParams& params = {}) {
  std::string sizes;
  for (const RenditionTarget& rendition : RenditionsOf(source, params)) {
    sizes += (sizes.empty() ? "" : " ") + std::to_string(rendition.target.width) + "x" +
             std::to_string(rendition.target.height);
  }
  return sizes;
}

TEST(ResolveRenditionsTest, TheLadderIsCutToTheSource) {
  EXPECT_EQ(SizesOf(SourceOf(1920, 1080)), "1920x1080 1280x720 640x360 426x240");
  EXPECT_EQ(SizesOf(SourceOf(1000, 600)), "600x360 400x240");
  EXPECT_EQ(SizesOf(SourceOf(320, 180)), "320x180") << "never empty, never enlarged";
  EXPECT_EQ(SizesOf(SourceOf(160, 180, {2, 1})), "320x180") << "as it is shown";
}

TEST(ResolveRenditionsTest, TheLadderIsTurnedForATallPicture) {
  const std::string all = "1080x1920 720x1280 360x640 240x426";
  EXPECT_EQ(SizesOf(SourceOf(1080, 1920)), all);
  EXPECT_EQ(SizesOf(SourceOf(1920, 1080, {1, 1}, 90)), all);
  EXPECT_EQ(SizesOf(SourceOf(1920, 1080), {{"rotate", "270"}}), all);
  EXPECT_EQ(SizesOf(SourceOf(1920, 1920, {9, 16})), all);
  EXPECT_EQ(SizesOf(SourceOf(180, 320)), "180x320");
}

TEST(ResolveRenditionsTest, TheLadderStandsOnTheSideThatLeavesMore) {
  EXPECT_EQ(SizesOf(SourceOf(1080, 1350)), "1080x1350 720x900 360x450 240x300");
  EXPECT_EQ(SizesOf(SourceOf(720, 1600)), "576x1280 288x640 192x426");
  EXPECT_EQ(SizesOf(SourceOf(1000, 1080)), "1000x1080 666x720 334x360 222x240");
  EXPECT_EQ(SizesOf(SourceOf(576, 1248)), "498x1080 332x720 166x360 110x240");
  EXPECT_EQ(SizesOf(SourceOf(400, 300)), "320x240") << "a wide one keeps it";
}

TEST(ResolveRenditionsTest, WhatAClientNamesIsMade) {
  const SourceInfo tall = SourceOf(1080, 1920);
  EXPECT_EQ(SizesOf(tall, {{"rungs", "1920x1080:4M,3840x2160:9M"}}), "608x1080 1216x2160");
  EXPECT_EQ(SizesOf(tall, {{"fit", "pad"}}), "1920x1080 1280x720 640x360 426x240");
}

TEST(SmallestOfTest, CountsPixels) {
  const SourceInfo narrow = SourceOf(18, 1200);  // all are 16 wide, the least there is
  EXPECT_EQ(SizesOf(narrow), "16x1080 16x720 16x360 16x240");
  EXPECT_EQ(SmallestOf(RenditionsOf(narrow, {})), 3U);
  const RequestParams squares{{"rungs", "64x64:100k,32x32:100k,16x512:100k"}, {"fit", "crop"}};
  EXPECT_EQ(SmallestOf(RenditionsOf(narrow, squares)), 1U);
}

}  // namespace
}  // namespace gopmill
