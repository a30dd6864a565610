// SPDX-License-Identifier: Apache-2.0
#include "base/percent_decoding.h"

#include <gtest/gtest.h>

namespace gopmill {
namespace {

TEST(PercentDecoded, AnyByte) {
  EXPECT_EQ(PercentDecoded("a%20b%c3%A9%25%00", Plus::kLiteral), std::string("a b\xC3\xA9%\0", 7));
  EXPECT_EQ(PercentDecoded("", Plus::kBlank), "");
}

TEST(PercentDecoded, APlusMayBeABlank) {
  EXPECT_EQ(PercentDecoded("a+b%2Bc", Plus::kLiteral), "a+b+c");
  EXPECT_EQ(PercentDecoded("a+b%2Bc", Plus::kBlank), "a b+c");
}

TEST(PercentDecoded, BrokenEscapes) {
  for (const char* broken : {"%", "a%2", "%g0", "%0g", "%%20"}) {
    EXPECT_EQ(PercentDecoded(broken, Plus::kLiteral), std::nullopt) << broken;
  }
}

}  // namespace
}  // namespace gopmill
