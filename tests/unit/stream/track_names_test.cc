// SPDX-License-Identifier: Apache-2.0
#include "server/stream/track_names.h"

#include <gtest/gtest.h>

namespace gopmill {
namespace {

TEST(UniqueNames, AreTheFirstWishAndDiffer) {
  UniqueNames names;
  EXPECT_EQ(names.For({"", "en", "Sound"}), "en");
  EXPECT_EQ(names.For({"en", "Sound"}), "en 2");
  EXPECT_EQ(names.For({"", ""}), "Track");
}

TEST(UniqueNames, HaveNoQuoteOfAPlaylist) {
  UniqueNames names;
  EXPECT_EQ(names.For({"a \"cut\""}), "a 'cut'");
  EXPECT_EQ(names.For({"a 'cut'"}), "a 'cut' 2");
}

}  // namespace
}  // namespace gopmill
