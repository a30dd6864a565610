// SPDX-License-Identifier: Apache-2.0
#include "base/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gopmill {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Words, TrimTakesBlanksFromBothEnds) {
  EXPECT_EQ(Trim(" \ta b\t "), "a b");
  EXPECT_EQ(Trim("a"), "a");
  EXPECT_EQ(Trim(" \t "), "");
  EXPECT_EQ(Trim(""), "");
  EXPECT_EQ(Trim("(x y)", "()"), "x y");
}

TEST(Words, SplitKeepsEmptyParts) {
  EXPECT_THAT(Split("a,b,", ','), ElementsAre("a", "b", ""));
  EXPECT_THAT(Split("", ','), ElementsAre(""));
  EXPECT_THAT(Split("a", ','), ElementsAre("a"));
  EXPECT_THAT(Split("a,b,c", ',', 2), ElementsAre("a", "b"));
}

TEST(Words, WordsStandBetweenBlanks) {
  EXPECT_THAT(Words("  a  bc "), ElementsAre("a", "bc"));
  EXPECT_THAT(Words("a\n\tbc\r\n"), ElementsAre("a", "bc"));
  EXPECT_THAT(Words(" \n "), IsEmpty());
}

}  // namespace
}  // namespace gopmill
