// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <gtest/gtest.h>

namespace gopmill {
namespace {

TEST(Utf8, KnowsWhatIsWellFormed) {
  for (const char* good : {"", "a", "\xC3\xBC", "\xE2\x82\xAC", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(IsUtf8(good)) << good;
  }
  for (const char* bad : {"\xFF", "\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80",
                          "\xF4\x90\x80\x80", "a\xC3(", "\x80"}) {
    EXPECT_FALSE(IsUtf8(bad)) << bad;
  }
}

TEST(Utf8, KeepsWhatIsWellFormed) {
  EXPECT_EQ(WellFormed("AB\xFF\xFE\xC3(GH", 100), "AB(GH");
  EXPECT_EQ(WellFormed("\xE2\x82\xAC\xE2\x82", 100), "\xE2\x82\xAC");
  EXPECT_EQ(WellFormed("", 100), "");
}

TEST(Utf8, CutsBetweenCharacters) {
  EXPECT_EQ(WellFormed("\xC3\xBC\xC3\xBC", 3), "\xC3\xBC");
  EXPECT_EQ(WellFormed("abc", 2), "ab");
}

TEST(Utf8, FindsControlCharacters) {
  for (const char* bad : {"a\nb", "\x1B[31m", "b\x7F", "\xC2\x85", "\xFF\t"}) {
    EXPECT_TRUE(HasControl(bad)) << bad;
  }
  for (const char* good : {"", "a b", "\xC2\xA0\xC3\x85", "\xE2\x82\xAC", "\xFF"}) {
    EXPECT_FALSE(HasControl(good)) << good;
  }
}

}  // namespace
}  // namespace gopmill
