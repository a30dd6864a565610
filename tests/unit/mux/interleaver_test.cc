// SPDX-License-Identifier: Apache-2.0
#include "media/interleaver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace gopmill {
namespace {

using Order = std::vector<std::pair<std::size_t, std::int64_t>>;

av::Packet At(std::int64_t dts, int size = 0) {
  av::Packet packet = av::NewPacket();
  if (size > 0) av_new_packet(packet.get(), size);
  packet->dts = packet->pts = dts;
  return packet;
}

void PopAll(Interleaver& interleaver, Order& order) {
  while (auto next = interleaver.Pop()) order.emplace_back(next->first, next->second->dts);
}

// Three tracks with time bases that meet at equal times now and then.
const std::vector<Rational> kBases{{1, 24}, {1, 48000}, {1, 1000}};
std::vector<std::int64_t> TimesOf(std::size_t track) {
  const std::int64_t steps[] = {1, 1024, 125};
  std::vector<std::int64_t> times;
  for (std::int64_t n = 0; n < 50; ++n) times.push_back((n - 2) * steps[track]);
  return times;
}

TEST(InterleaverTest, AnyOrderOfArrivalGivesTheSameSequence) {
  std::mt19937 random(1);
  Order first;
  for (int run = 0; run < 200; ++run) {
    Interleaver interleaver(kBases);
    std::vector<std::size_t> arrivals;
    for (std::size_t track = 0; track < 3; ++track) arrivals.insert(arrivals.end(), 51, track);
    std::shuffle(arrivals.begin(), arrivals.end(), random);
    std::size_t sent[3] = {};
    Order order;
    for (const std::size_t track : arrivals) {
      const auto times = TimesOf(track);
      if (sent[track] == times.size()) {
        interleaver.End(track);
      } else {
        if (random() % 3 == 0) interleaver.Advance(track, times[sent[track]]);
        interleaver.Push(track, At(times[sent[track]++]));
      }
      if (random() % 2 == 0) PopAll(interleaver, order);
    }
    PopAll(interleaver, order);
    EXPECT_TRUE(interleaver.drained());
    ASSERT_EQ(order.size(), 150U);
    if (run == 0) first = order;
    ASSERT_EQ(order, first);
  }
  EXPECT_TRUE(std::is_sorted(first.begin(), first.end(), [](const auto& a, const auto& b) {
    const Rational left{a.second * kBases[a.first].num, kBases[a.first].den};
    const Rational right{b.second * kBases[b.first].num, kBases[b.first].den};
    return left != right ? left < right : a.first < b.first;
  }));
}

TEST(InterleaverTest, APromiseLetsTheOtherTrackGo) {
  Interleaver interleaver({{1, 10}, {1, 1000}});
  interleaver.Push(0, At(5));
  EXPECT_FALSE(interleaver.Pop());
  interleaver.Advance(1, 499);
  EXPECT_FALSE(interleaver.Pop());
  interleaver.Advance(1, 500);  // a tie: the lower track first
  EXPECT_TRUE(interleaver.Pop());
  interleaver.Push(1, At(500));
  interleaver.Advance(0, 5);
  EXPECT_FALSE(interleaver.Pop());  // track 0 may still bring the same time
  interleaver.Advance(0, 6);
  EXPECT_TRUE(interleaver.Pop());
}

TEST(InterleaverTest, ATrackThatEndedHoldsNobodyUp) {
  Interleaver interleaver({{1, 10}, {1, 10}});
  interleaver.Push(0, At(5));
  interleaver.End(1);
  EXPECT_FALSE(interleaver.drained());
  EXPECT_TRUE(interleaver.Pop());
  EXPECT_FALSE(interleaver.drained());
  interleaver.End(0);
  EXPECT_TRUE(interleaver.drained());
}

TEST(InterleaverTest, CountsWhatWaits) {
  Interleaver interleaver({{1, 10}, {1, 10}});
  interleaver.Push(0, At(1, 100));
  interleaver.Push(0, At(2, 30));
  EXPECT_EQ(interleaver.payload(), 130U);
  EXPECT_EQ(interleaver.bytes(), 130U + 2 * kPacketOverhead);
  interleaver.End(1);
  EXPECT_TRUE(interleaver.Pop());
  EXPECT_EQ(interleaver.payload(), 30U);
  EXPECT_EQ(interleaver.bytes(), 30U + kPacketOverhead);
}

}  // namespace
}  // namespace gopmill
