// SPDX-License-Identifier: Apache-2.0
#include "base/file_name.h"

#include <gtest/gtest.h>

#include "base/words.h"

namespace gopmill {
namespace {

TEST(FileName, StemKeepsTheFolder) {
  EXPECT_EQ(StemOf("movie.mp4"), "movie");
  EXPECT_EQ(StemOf("a/movie.en.srt"), "a/movie.en");
  EXPECT_EQ(StemOf("movie"), "movie");
  EXPECT_EQ(StemOf(""), "");
}

TEST(FileName, DotsOfFoldersAreNotTheFiles) {
  EXPECT_EQ(StemOf("Season.1/README"), "Season.1/README");
  EXPECT_EQ(ExtensionOf("Season.1/README"), "");
  EXPECT_EQ(NameStart("Season.1/README"), 9);
  EXPECT_EQ(NameStart("README"), 0);
  EXPECT_EQ(StemOf("a.b/"), "a.b/");
}

TEST(FileName, DotsInFrontHideTheFile) {
  EXPECT_EQ(StemOf(".mp4"), ".mp4");
  EXPECT_EQ(ExtensionOf("a/.mp4"), "");
  EXPECT_EQ(ExtensionOf(".hidden.mp4"), "mp4");
}

TEST(FileName, ExtensionsAreInLowerCase) {
  EXPECT_EQ(ExtensionOf("Movie.MP4"), "mp4");
  EXPECT_EQ(ExtensionOf("a.b/movie.tar.Gz"), "gz");
  EXPECT_EQ(ExtensionOf("movie."), "");
  EXPECT_EQ(LowerAscii("\xC3\x9C-A"), "\xC3\x9C-a");
}

}  // namespace
}  // namespace gopmill
