// SPDX-License-Identifier: Apache-2.0
#include "media/hdr_metadata.h"

#include <gtest/gtest.h>

namespace gopmill {
namespace {

AVMasteringDisplayMetadata Display() {
  AVMasteringDisplayMetadata display{};
  for (auto& xy : display.display_primaries) xy[0] = xy[1] = {15'000, 50'000};
  display.white_point[0] = display.white_point[1] = {1, 3};
  display.max_luminance = {1000, 1};
  display.min_luminance = {1, 10'000};
  display.has_primaries = display.has_luminance = 1;
  return display;
}

std::optional<AVMasteringDisplayMetadata> Read(const AVMasteringDisplayMetadata& display) {
  return MasteringDisplayOf(KeptBytes(std::optional(display)));
}

TEST(HdrMetadata, GoodOnesStayAsTheyAre) {
  const auto bytes = KeptBytes(std::optional(Display()));
  EXPECT_EQ(KeptBytes(MasteringDisplayOf(bytes)), bytes);
  const auto light =
      KeptBytes(std::optional(AVContentLightMetadata{.MaxCLL = 1000, .MaxFALL = 400}));
  EXPECT_EQ(KeptBytes(ContentLightOf(light)), light);
}

// A float of Matroska that is infinite, or no number, becomes such a fraction.
TEST(HdrMetadata, ALuminanceWithoutAValueIsLeftOut) {
  for (const AVRational value : {AVRational{1, 0}, {0, 0}, {-1, 1}, {1, -1}, {INT32_MAX, 1}}) {
    AVMasteringDisplayMetadata display = Display();
    display.max_luminance = value;
    const auto found = Read(display);
    ASSERT_TRUE(found.has_value()) << value.num << "/" << value.den;
    EXPECT_EQ(found->has_luminance, 0);
    EXPECT_EQ(found->has_primaries, 1) << "the other half stays";
  }
}

TEST(HdrMetadata, TheHighestLuminanceIsAboveTheLowest) {
  AVMasteringDisplayMetadata display = Display();
  display.min_luminance = display.max_luminance;
  EXPECT_EQ(Read(display)->has_luminance, 0);
  display.max_luminance = {100'001, 100};
  display.min_luminance = {1'000'010'001, 1'000'000};  // apart by less than a step
  EXPECT_EQ(Read(display)->has_luminance, 0);
}

TEST(HdrMetadata, ColoursOutsideOfTheDiagramAreLeftOut) {
  for (const AVRational value : {AVRational{50'001, 50'000}, {-1, 50'000}, {1, 0}}) {
    AVMasteringDisplayMetadata display = Display();
    display.white_point[1] = value;
    EXPECT_EQ(Read(display)->has_primaries, 0) << value.num << "/" << value.den;
    display.has_luminance = 0;
    EXPECT_FALSE(Read(display).has_value());
  }
}

TEST(HdrMetadata, LightLevelsHaveSixteenBits) {
  const auto read = [](unsigned most, unsigned mean) {
    return ContentLightOf(
        KeptBytes(std::optional(AVContentLightMetadata{.MaxCLL = most, .MaxFALL = mean})));
  };
  EXPECT_TRUE(read(65'535, 65'535).has_value());
  EXPECT_FALSE(read(65'536, 400).has_value());
  EXPECT_FALSE(read(400, 65'536).has_value());
  EXPECT_FALSE(ContentLightOf(std::vector<std::uint8_t>(7)).has_value());
  EXPECT_FALSE(MasteringDisplayOf(std::vector<std::uint8_t>(80)).has_value());
}

}  // namespace
}  // namespace gopmill
