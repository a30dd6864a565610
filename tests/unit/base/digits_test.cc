// SPDX-License-Identifier: Apache-2.0
#include "base/digits.h"

#include <gtest/gtest.h>

namespace gopmill {
namespace {

TEST(ParseDigits, TakesDecimalsAndNothingElse) {
  EXPECT_EQ(ParseDigits("0"), 0);
  EXPECT_EQ(ParseDigits("010"), 10);
  EXPECT_EQ(ParseDigits("9999999999999"), 9'999'999'999'999);
  for (const char* text : {"", "+1", "-1", " 1", "1 ", "1e3", "0x10", "1.", "12345678901234"}) {
    EXPECT_EQ(ParseDigits(text), std::nullopt) << text;
  }
}

TEST(ParseDigits, TakesAsManyAsAreAllowed) {
  EXPECT_EQ(ParseDigits("123", 3), 123);
  EXPECT_EQ(ParseDigits("0123", 3), std::nullopt);
}

}  // namespace
}  // namespace gopmill
