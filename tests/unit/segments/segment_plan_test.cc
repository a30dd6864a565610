// SPDX-License-Identifier: Apache-2.0
#include "media/segment_plan.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

#include "base/clock.h"

namespace gopmill {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Gt;
using ::testing::Le;

constexpr Rational k25{25, 1};
constexpr Rational kTick{1, 25};

OutputGrid Grid() { return {k25, k25, kTick, 0}; }

// 25 pictures a second, one tick each, with closed random access at these packets.
SourceIndex Index(std::int64_t packets, const std::vector<std::int64_t>& closed) {
  SourceIndex index;
  for (std::int64_t n = 0; n < packets; ++n) {
    SourceIndex::Video packet;
    packet.pts = packet.packet_pts = packet.dts = n;
    packet.bytes = 100;
    index.video.push_back(packet);
  }
  for (const std::int64_t n : closed) {
    index.video[static_cast<std::size_t>(n)].access = RandomAccess::kClosed;
  }
  index.video_end = packets;
  return index;
}

UnitSpec UnitOf(const SourceIndex& index, const SegmentGrid& segments, std::int64_t number,
                int context = 0) {
  const auto k = static_cast<std::size_t>(number);
  return SegmentUnit(index, segments, SegmentSpans(index, Grid(), segments, context)[k], number, 0);
}

TEST(CutSegmentsTest, BordersLieAtMultiplesWithoutKeyFramesNearby) {
  EXPECT_THAT(CutSegments(Index(220, {0}), Grid(), 2, 220).borders,
              ElementsAre(0, 50, 100, 150, 200, 220));
}

TEST(CutSegmentsTest, BordersMoveToKeyFramesWithinAQuarter) {
  EXPECT_THAT(CutSegments(Index(200, {0, 44, 112, 130, 151}), Grid(), 2, 200).borders,
              ElementsAre(0, 44, 112, 151, 200));
}

TEST(CutSegmentsTest, AShortRestBelongsToTheLastSegment) {
  EXPECT_THAT(CutSegments(Index(108, {0}), Grid(), 2, 108).borders, ElementsAre(0, 50, 108));
  EXPECT_THAT(CutSegments(Index(1, {0}), Grid(), 2, 1).borders, ElementsAre(0, 1));
}

// Of a second, of ten, short ones in between, none: no segment is empty, none has two lengths.
TEST(CutSegmentsTest, HaveAboutTheLengthAskedForWhateverTheGroups) {
  std::mt19937 random(1);
  const auto one_of = [&](auto values) { return values[random() % values.size()]; };
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t longest = one_of(std::array<std::uint64_t, 6>{1, 12, 25, 26, 250, 1000});
    std::vector<std::int64_t> keys{0};
    while (keys.back() < 1500) {
      keys.push_back(keys.back() + 1 + static_cast<std::int64_t>(random() % longest));
    }
    keys.pop_back();
    const double seconds = one_of(std::array{1.0, 2.0, 4.0, 6.0});
    const std::int64_t frames = 1300 + static_cast<std::int64_t>(random() % 200);
    const auto borders = CutSegments(Index(1500, keys), Grid(), seconds, frames).borders;
    ASSERT_EQ(borders.back(), frames);
    std::vector<double> lengths;
    for (std::size_t k = 1; k < borders.size(); ++k) {
      lengths.push_back(static_cast<double>(borders[k] - borders[k - 1]) / 25 / seconds);
    }
    const double last = lengths.back();
    lengths.pop_back();
    EXPECT_THAT(lengths, Each(AllOf(Ge(0.5), Le(1.5))))
        << seconds << " s, groups up to " << longest;
    EXPECT_THAT(last, AllOf(Gt(0.0), Le(1.75)));
  }
}

TEST(SegmentUnitTest, DecodesFromTheLastKeyFrameBeforeIt) {
  const SourceIndex index = Index(200, {0, 60, 120});
  const SegmentGrid segments{.fps = k25, .borders = {0, 50, 100, 150, 200}};
  const UnitSpec unit = UnitOf(index, segments, 2);
  EXPECT_EQ(unit.first_frame, 100);
  EXPECT_EQ(unit.end_frame, 150);
  EXPECT_EQ(unit.first_packet, 60);
  EXPECT_GE(unit.end_packet, 150);
  EXPECT_EQ(unit.cut, CutKind::kClosed);
  EXPECT_TRUE(unit.ends_run) << "the next one begins at 120";
}

TEST(SegmentUnitTest, OfOneGroupGoOnWithEachOther) {
  const SourceIndex index = Index(200, {0, 130});
  const SegmentGrid segments{.fps = k25, .borders = {0, 50, 100, 150, 195, 200}};
  const auto unit = [&](std::int64_t number, int context = 0) {
    return UnitOf(index, segments, number, context);
  };
  EXPECT_FALSE(unit(0).ends_run);
  EXPECT_EQ(unit(0).end_packet, 70) << "until a decoder must have given the last one out";
  EXPECT_FALSE(unit(0).run_fed);
  EXPECT_FALSE(unit(1).ends_run);
  EXPECT_EQ(unit(2).first_packet, 0);
  EXPECT_TRUE(unit(2).ends_run) << "the next one begins at 130";
  EXPECT_FALSE(unit(3).ends_run);
  EXPECT_TRUE(unit(3).run_fed) << "there is nothing more to feed";
  EXPECT_TRUE(unit(4).ends_run && !unit(4).run_fed);
  for (std::int64_t k = 1; k < 5; ++k) EXPECT_LE(unit(k - 1).end_packet, unit(k).end_packet);
  EXPECT_TRUE(unit(0, 2).ends_run) << "filters begin anew";
}

// The last of a run has less behind it than a decoder may hold back.
TEST(SegmentUnitTest, NoneIsFedMoreThanItsRunNeeds) {
  const SourceIndex index = Index(100, {0, 60});
  const SegmentGrid segments{.fps = k25, .borders = {0, 20, 40, 50, 60, 100}};
  EXPECT_EQ(UnitOf(index, segments, 1).end_packet, 60);
  EXPECT_FALSE(UnitOf(index, segments, 1).run_fed);
  EXPECT_EQ(UnitOf(index, segments, 2).end_packet, 61) << "the next one's";
  EXPECT_TRUE(UnitOf(index, segments, 2).run_fed);
  EXPECT_FALSE(UnitOf(index, segments, 2).ends_run);
  EXPECT_EQ(UnitOf(index, segments, 3).end_packet, 61);
  EXPECT_TRUE(UnitOf(index, segments, 3).ends_run);
}

// The rules by themselves, for one time: the last place of access up to it, one or two before where
// pictures recover slowly.
struct PlainEntry {
  std::int64_t packet = 0;
  bool preroll = false;
};

PlainEntry PlainEntryAt(const SourceIndex& index, SourceTicks time) {
  std::vector<std::int64_t> places;
  for (std::int64_t n = 0; n < std::ssize(index.video); ++n) {
    const SourceIndex::Video& packet = index.video[static_cast<std::size_t>(n)];
    if (packet.pts <= time && packet.access != RandomAccess::kNone) places.push_back(n);
  }
  const auto recovers = [&](std::size_t back) {
    if (places.size() <= back) return false;
    const auto packet = static_cast<std::size_t>(places[places.size() - 1 - back]);
    return index.video[packet].access == RandomAccess::kRecovery;
  };
  if (places.empty()) return {};
  std::size_t back = 0;
  if (recovers(0)) back = recovers(1) ? 2 : 1;
  if (back >= places.size()) return {.packet = 0, .preroll = true};
  return {.packet = places[places.size() - 1 - back], .preroll = back > 0};
}

// Behind the last packet that is shown up to a time.
std::int64_t PlainEnd(const SourceIndex& index, SourceTicks time) {
  std::int64_t end = 0;
  for (std::int64_t n = 0; n < std::ssize(index.video); ++n) {
    const SourceIndex::Video& packet = index.video[static_cast<std::size_t>(n)];
    if (!packet.hidden && packet.pts <= time) end = n + 1;
  }
  return end;
}

enum class Order { kNearlyUp, kDown, kMixed, kFewTimes };

SourceTicks TimeIn(Order order, SourceTicks n, SourceTicks count, std::mt19937& random) {
  const auto up_to = [&](SourceTicks most) {
    return std::uniform_int_distribution<SourceTicks>(0, most)(random);
  };
  switch (order) {
    case Order::kNearlyUp: return n + up_to(8) - 4;
    case Order::kDown: return count - n + up_to(4) - 2;
    case Order::kMixed: return up_to(count);
    case Order::kFewTimes: return up_to(4) * count / 4;
  }
  return 0;
}

// Pictures out of order, several of one time, some that are hidden, all kinds of access.
SourceIndex RandomIndex(std::mt19937& random, Order order = Order::kNearlyUp) {
  const auto up_to = [&](int most) { return std::uniform_int_distribution(0, most)(random); };
  SourceIndex index = Index(60 + up_to(140), {0});
  for (std::size_t n = 1; n < index.video.size(); ++n) {
    index.video[n].pts =
        TimeIn(order, static_cast<SourceTicks>(n), std::ssize(index.video), random);
    index.video[n].hidden = up_to(19) == 0;
    constexpr std::array kKinds{RandomAccess::kClosed, RandomAccess::kOpenGop,
                                RandomAccess::kRecovery};
    if (up_to(14) == 0) index.video[n].access = kKinds[static_cast<std::size_t>(up_to(2))];
  }
  return index;
}

TEST(SegmentUnitTest, AreWhatTheRulesSayOfEachByItself) {
  std::mt19937 random(7);
  int shared = 0, alone = 0;
  for (int round = 0; round < 400; ++round) {
    // Files are mostly in order; those of strangers need not be.
    const auto order = round < 300 ? Order::kNearlyUp : static_cast<Order>(round % 4);
    const SourceIndex index = RandomIndex(random, order);
    const auto count = std::ssize(index.video);
    SegmentGrid segments{.fps = k25, .borders = {0}};
    while (segments.borders.back() < count) {
      segments.borders.push_back(segments.borders.back() +
                                 std::uniform_int_distribution(1, 30)(random));
    }
    for (std::int64_t k = 0; k < segments.count(); ++k) {
      const UnitSpec unit = UnitOf(index, segments, k);
      const PlainEntry entry = PlainEntryAt(index, unit.first_frame);
      const PlainEntry next = PlainEntryAt(index, unit.end_frame);
      EXPECT_EQ(unit.first_packet, entry.packet) << round << ' ' << k;
      EXPECT_EQ(unit.cut == CutKind::kPreroll, entry.preroll) << round << ' ' << k;
      const bool last = k + 1 == segments.count();
      ASSERT_EQ(unit.ends_run, last || next.packet != entry.packet) << round << ' ' << k;
      ++(unit.ends_run ? alone : shared);
      SourceTicks until = unit.end_frame - 1;
      const SourceTicks begin = index.video[static_cast<std::size_t>(next.packet)].pts;
      if (unit.ends_run && !last && !next.preroll && begin > until) {
        EXPECT_EQ(unit.end_pts, begin);
        until = begin - 1;
      } else {
        EXPECT_FALSE(unit.end_pts);
      }
      const std::int64_t end = std::max(PlainEnd(index, until), entry.packet);
      if (unit.ends_run) {
        EXPECT_EQ(unit.end_packet, std::min<std::int64_t>(end + 1, count)) << round << ' ' << k;
        continue;
      }
      const UnitSpec behind = UnitOf(index, segments, k + 1);
      EXPECT_EQ(unit.end_packet, std::min<std::int64_t>({end + 20, behind.end_packet, count}));
      EXPECT_GE(unit.end_packet, end);
    }
  }
  EXPECT_GT(shared, 200);
  EXPECT_GT(alone, 200);
}

TEST(SegmentUnitTest, OfFramesByThemselvesAreThoseOfTheLastSegment) {
  std::mt19937 random(8);
  for (int round = 0; round < 100; ++round) {
    const SourceIndex index = RandomIndex(random);
    const std::int64_t first = std::uniform_int_distribution(1, 50)(random);
    for (const int context : {0, 3}) {
      const SegmentGrid segments{.fps = k25, .borders = {0, first, first + 5}};
      const UnitSpec unit = UnitOf(index, segments, 1, context);
      const UnitSpec alone = FramesUnit(index, Grid(), {first, first + 5}, 0, context);
      EXPECT_EQ(alone.first_packet, unit.first_packet) << round;
      EXPECT_EQ(alone.end_packet, unit.end_packet) << round;
      EXPECT_EQ(alone.cut, unit.cut) << round;
      EXPECT_TRUE(alone.ends_run) << round;
    }
  }
}

// The index is gone through once for all of them, and each is what it is alone.
TEST(SegmentUnitTest, OfManyFramesAreThoseOfEach) {
  std::mt19937 random(9);
  for (int round = 0; round < 100; ++round) {
    const SourceIndex index = RandomIndex(random, static_cast<Order>(round % 4));
    for (const int context : {0, 3}) {
      std::vector<FrameRange> frames;
      for (std::int64_t at = 1; at < 60; at += std::uniform_int_distribution(0, 9)(random)) {
        frames.push_back({at, at + 1});
      }
      const std::vector<UnitSpec> units = FramesUnits(index, Grid(), frames, 1000, context);
      ASSERT_EQ(units.size(), frames.size());
      for (std::size_t k = 0; k < units.size(); ++k) {
        const SegmentGrid last{.fps = k25, .borders = {0, frames[k].first, frames[k].end}};
        const UnitSpec alone = UnitOf(index, last, 1, context);
        EXPECT_EQ(units[k].first_frame, frames[k].first);
        EXPECT_EQ(units[k].end_frame, frames[k].end);
        EXPECT_EQ(units[k].first_packet, alone.first_packet) << round;
        EXPECT_EQ(units[k].end_packet, alone.end_packet) << round;
        EXPECT_EQ(units[k].cut, alone.cut) << round;
        EXPECT_EQ(units[k].source_bytes, alone.source_bytes) << round;
        EXPECT_TRUE(units[k].ends_run && !units[k].run_fed && !units[k].end_pts) << round;
      }
    }
  }
}

TEST(SegmentUnitTest, OfManyFramesCostHardlyMoreThanOne) {
  const SourceIndex index = Index(400'000, {0});
  std::vector<FrameRange> frames;
  for (std::int64_t tile = 0; tile < 100; ++tile) frames.push_back({4000 * tile, 4000 * tile + 1});
  const auto spent = [&](const std::vector<FrameRange>& ranges) {
    const Duration before = ThreadCpuNow();
    EXPECT_EQ(FramesUnits(index, Grid(), ranges, 0, 0).size(), ranges.size());
    return ThreadCpuNow() - before;
  };
  const Duration one = std::min(spent({frames.back()}), spent({frames.back()}));
  EXPECT_LT(std::min(spent(frames), spent(frames)), 30 * one) << "not a hundred times";
}

// Sound comes first: frames in front of the first picture show it, too.
TEST(SegmentUnitTest, InFrontOfTheFirstPictureGoOnWithIt) {
  SourceIndex index = Index(100, {0});
  for (SourceIndex::Video& packet : index.video) packet.pts += 120;
  const SegmentGrid segments{.fps = k25, .borders = {0, 50, 100, 150, 220}};
  for (const std::int64_t k : {0, 1, 2}) {
    EXPECT_FALSE(UnitOf(index, segments, k).ends_run) << k;
    EXPECT_FALSE(UnitOf(index, segments, k).end_pts) << k << ": the next one decodes them";
  }
}

// An edit list: pictures 0 to 49, ten that are not shown, the first of them a key picture, 50 more.
TEST(SegmentUnitTest, WhatIsHiddenIsDecodedForWhatComesBehindItAlone) {
  SourceIndex index = Index(110, {0, 25, 50});
  for (std::size_t n = 50; n < 110; ++n) index.video[n].pts -= n < 60 ? 0 : 10;
  for (std::size_t n = 50; n < 60; ++n) {
    index.video[n].hidden = true;
    index.video[n].pts = 50;
  }
  const SegmentGrid segments{.fps = k25, .borders = {0, 25, 50, 75, 100}};
  const UnitSpec before = UnitOf(index, segments, 1);
  EXPECT_EQ(before.first_packet, 25);
  EXPECT_LE(before.end_packet, 51);
  EXPECT_EQ(UnitOf(index, segments, 2).first_packet, 50);
  EXPECT_EQ(UnitOf(index, segments, 3).end_packet, 110);
  EXPECT_THAT(CutSegments(index, Grid(), 1.9, 100).borders, ElementsAre(0, 48, 100))
      << "not where nothing is shown";
}

TEST(SegmentUnitTest, AnOpenGroupIsDecodedWithTheOneBeforeIt) {
  SourceIndex index = Index(200, {0});
  index.video[40].access = index.video[80].access = RandomAccess::kRecovery;
  const SegmentGrid segments{.fps = k25, .borders = {0, 50, 100, 150, 200}};
  EXPECT_EQ(UnitOf(index, segments, 2).first_packet, 0)
      << "two, since the one before the last recovers as well";
  EXPECT_EQ(UnitOf(index, segments, 2).cut, CutKind::kPreroll);
  EXPECT_EQ(UnitOf(index, segments, 1).first_packet, 0);
}

TEST(SegmentUnitTest, AnExactOpenGroupIsDecodedByItself) {
  SourceIndex index = Index(200, {0});
  index.video[40].access = index.video[80].access = RandomAccess::kOpenGop;
  const SegmentGrid segments{.fps = k25, .borders = {0, 50, 100, 150, 200}};
  EXPECT_EQ(UnitOf(index, segments, 2).first_packet, 80);
  EXPECT_EQ(UnitOf(index, segments, 1).first_packet, 40);
  EXPECT_EQ(UnitOf(index, segments, 1, 1).first_packet, 40) << "pictures 40 to 49";
}

TEST(SegmentUnitTest, FiltersInTimeHaveThePicturesAround) {
  const SourceIndex index = Index(200, {0, 60, 98, 99, 100});
  const SegmentGrid segments{.fps = k25, .borders = {0, 50, 100, 150, 200}};
  const UnitSpec third = UnitOf(index, segments, 2, 2);
  EXPECT_EQ(third.first_packet, 98);
  EXPECT_EQ(third.cut, CutKind::kPreroll);
  EXPECT_GE(third.end_packet, 152);
  EXPECT_EQ(UnitOf(index, segments, 2, 3).first_packet, 60);
  const UnitSpec second = UnitOf(index, segments, 1, 4);
  EXPECT_EQ(second.first_packet, 0);
  EXPECT_EQ(second.cut, CutKind::kClosed) << "pictures enough from the key picture on";
  EXPECT_EQ(UnitOf(index, segments, 0, 4).first_packet, 0);
}

TEST(SegmentUnitTest, FiltersInTimeGetPicturesFromBehindAnotherRecoveryPoint) {
  SourceIndex index = Index(200, {0});
  for (const std::size_t n : {25U, 50U, 75U, 100U}) index.video[n].access = RandomAccess::kRecovery;
  const SegmentGrid segments{.fps = k25, .borders = {0, 50, 100, 150, 200}};
  EXPECT_EQ(UnitOf(index, segments, 2, 2).first_packet, 50);
  EXPECT_EQ(UnitOf(index, segments, 2, 1).first_packet, 50);
  EXPECT_EQ(UnitOf(index, segments, 3, 2).first_packet, 50);
}

TEST(SegmentUnitTest, ReorderedPicturesAreAllFed) {
  SourceIndex index = Index(100, {0});
  std::swap(index.video[49].pts, index.video[55].pts);  // the last one wanted comes late
  const SegmentGrid segments{.fps = k25, .borders = {0, 50, 100}};
  EXPECT_GE(UnitOf(index, segments, 0).end_packet, 56);
}

TEST(SegmentBudgetsTest, FollowTheSourceWithinLimitsAndKeepTheMean) {
  SourceIndex index = Index(200, {0});
  for (std::size_t n = 100; n < 150; ++n) index.video[n].bytes = 5000;
  const SegmentGrid segments{.fps = k25, .borders = {0, 50, 100, 150, 200}};
  const auto budgets = SegmentBudgets(index, Grid(), segments, 100'000);
  EXPECT_THAT(budgets, Each(Le(static_cast<std::int64_t>(100'000 * kMaxSegmentWeight))));
  EXPECT_GT(budgets[2], budgets[1]);
  EXPECT_EQ(budgets[0], budgets[1]);
  const double mean = std::accumulate(budgets.begin(), budgets.end(), 0.0) / 4;
  EXPECT_GT(mean, 80'000);
  EXPECT_LE(mean, 100'001);
}

TEST(CutAudioTest, BordersAreThePacketsBehindThePictures) {
  const SegmentGrid video{.fps = k25, .borders = {0, 50, 100}};
  const AudioGrid grid = CutAudio(video, 2, 48'000, 1024, 1024, 4 * 48'000);
  // 2 s are 96,000 samples: packet 95 begins at (95 - 1) * 1024 = 96,256.
  EXPECT_THAT(grid.borders, ElementsAre(0, 95, 189));
  EXPECT_EQ(grid.TimeOf(95), 96'256);
  EXPECT_EQ(grid.TimeOf(0), -1024);
  EXPECT_EQ(grid.TimeOf(189), 4 * 48'000);
}

TEST(CutAudioTest, SoundBehindThePicturesGoesOnInSegments) {
  const SegmentGrid video{.fps = k25, .borders = {0, 50, 100}};
  EXPECT_EQ(CutAudio(video, 2, 48'000, 1024, 1024, 9 * 48'000).count(), 5);
}

TEST(CutAudioTest, ShortSoundHasFewerSegments) {
  const SegmentGrid video{.fps = k25, .borders = {0, 50, 100, 150}};
  EXPECT_EQ(CutAudio(video, 2, 48'000, 1024, 1024, 48'000).count(), 1);
  EXPECT_EQ(CutAudio(video, 2, 48'000, 1024, 1024, 1).count(), 1);
}

}  // namespace
}  // namespace gopmill
