// SPDX-License-Identifier: Apache-2.0
#include "base/library_path.h"

#include <gtest/gtest.h>

#include <string>

namespace gopmill {
namespace {

using namespace std::string_literals;

TEST(LibraryPath, IsRelativeAndStaysBelowItsFolder) {
  for (const char* good :
       {"dir/movie.mp4", "a", ".hidden", "..a/b..", "a b/\xC3\xBC.mkv", "a/..."}) {
    EXPECT_TRUE(CheckLibraryPath(good).ok()) << good;
  }
  for (const char* bad :
       {"", "/etc/passwd", "a/../b", "..", "../a", "a/..", "./a", "a/.", "a//b", "a/", "a\\b"}) {
    const Status status = CheckLibraryPath(bad);
    ASSERT_FALSE(status.ok()) << bad;
    EXPECT_EQ(status.error().code, Code::kInvalidArgument);
    EXPECT_EQ(status.error().parameter, "path") << bad;
  }
}

TEST(LibraryPath, IsTextOfARequest) {
  for (const std::string& bad : {"a\0b"s, "a\nb"s, "a/\x1F.mp4"s, "\x7F"s, "\xFF"s, "a\xC3"s}) {
    EXPECT_FALSE(CheckLibraryPath(bad).ok()) << bad;
    EXPECT_EQ(CheckRequestText("fps", bad).error().parameter, "fps") << bad;
  }
  EXPECT_TRUE(CheckRequestText("fps", "a/../b \\").ok()) << "no path";
  EXPECT_TRUE(CheckLibraryPath("\xC2\x85").ok()) << "of two bytes: no line of HTTP ends with it";
}

TEST(LibraryPath, SegmentsAreOne) {
  EXPECT_TRUE(CheckPathSegment("movie.mp4").ok());
  for (const char* bad : {"", ".", "..", "a/b", "a\\b"}) EXPECT_FALSE(CheckPathSegment(bad).ok());
}

}  // namespace
}  // namespace gopmill
