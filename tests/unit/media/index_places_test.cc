// SPDX-License-Identifier: Apache-2.0
#include "media/index_places.h"

#include <gtest/gtest.h>

namespace gopmill {
namespace {

TEST(IndexPlaces, WantsABoxAtEachOfAPipe) {
  IndexPlaces places;
  places.Box(0, 100);
  EXPECT_FALSE(places.Add(100));
  EXPECT_FALSE(places.Add(200));
  places.Box(100, 200);
  EXPECT_FALSE(places.astray());
  IndexPlaces between = places;
  places.Box(200, 300);
  EXPECT_FALSE(places.astray());
  between.Box(200, 300);
  between.Add(400);
  between.Box(300, 500);
  EXPECT_TRUE(between.astray());
}

TEST(IndexPlaces, WantsNoneBeforeWhatIsRead) {
  IndexPlaces places;
  EXPECT_FALSE(places.Box(0, 100));
  EXPECT_TRUE(places.Add(99)) << "it would be in front of those that are ahead";
  EXPECT_TRUE(places.astray());
  EXPECT_EQ(places.ahead(), 0U);
}

TEST(IndexPlaces, SaysWhatIsPutInFrontOfOthers) {
  IndexPlaces places;
  EXPECT_FALSE(places.Add(100));
  EXPECT_FALSE(places.Add(300));
  EXPECT_FALSE(places.Add(300)) << "there already";
  EXPECT_FALSE(places.Add(100));
  EXPECT_TRUE(places.Add(200));
  EXPECT_EQ(places.ahead(), 3U);
  for (const std::uint64_t begin : {100U, 200U, 300U}) {
    EXPECT_TRUE(places.Box(begin, begin + 100)) << begin;
  }
  EXPECT_EQ(places.ahead(), 0U);
  EXPECT_FALSE(places.astray()) << "and keeps them in order";
}

TEST(IndexPlaces, OfAFileAreUsedWhereTheyLeadToItsEnd) {
  for (const std::uint64_t end : {999U, 1000U, 980U}) {
    IndexPlaces places;
    places.OfFile(1000, 20);
    places.Add(50);
    places.AddEnd(end);
    places.Box(0, 100);
    EXPECT_EQ(places.astray(), end != 999U) << end;
  }
}

TEST(IndexPlaces, BehindTheLastBoxOfAFileThereIsNone) {
  IndexPlaces places;
  places.OfFile(1000, 0);
  places.Add(1000);
  places.Box(0, 500);
  places.End();
  EXPECT_FALSE(places.astray());
  places.Add(500);
  EXPECT_TRUE(places.astray()) << "what was read is behind";
  IndexPlaces ahead;
  ahead.OfFile(1000, 0);
  ahead.Add(1000);
  ahead.Add(600);
  ahead.Box(0, 500);
  EXPECT_FALSE(ahead.astray());
  ahead.End();
  EXPECT_TRUE(ahead.astray());
}

}  // namespace
}  // namespace gopmill
