// SPDX-License-Identifier: Apache-2.0
#include "media/reorderer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>

namespace gopmill {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

av::Packet PacketOf(int size = 10) {
  av::Packet packet = av::NewPacket();
  EXPECT_EQ(av_new_packet(packet.get(), size), 0);
  std::memset(packet->data, 0, static_cast<std::size_t>(size));
  return packet;
}

// Packets are named unit.place; the reorderer is told and answers in these names.
class Order {
 public:
  std::vector<std::string> Packet(std::int64_t unit, std::int64_t place) {
    std::vector<Reorderer::Released> out;
    av::Packet packet = PacketOf();
    packet->pts = unit * 100 + place;
    status = reorderer.OnPacket({unit}, place, std::move(packet), out);
    return Names(out);
  }
  std::vector<std::string> End(std::int64_t unit, std::int64_t packets) {
    std::vector<Reorderer::Released> out;
    status = reorderer.OnUnitEnd({unit}, packets, out);
    return Names(out);
  }
  Reorderer reorderer;
  Status status;

 private:
  static std::vector<std::string> Names(const std::vector<Reorderer::Released>& out) {
    std::vector<std::string> names;
    for (const auto& item : out) {
      const std::string place =
          item.packet ? std::to_string(item.packet->pts - item.unit.value * 100) : "none";
      names.push_back(std::to_string(item.unit.value) + "." + place +
                      (item.last_of_unit ? "!" : ""));
    }
    return names;
  }
};

TEST(Reorderer, HeadOfLineGoesStraightThroughButItsLastPacket) {
  Order order;
  EXPECT_THAT(order.Packet(0, 0), IsEmpty());
  EXPECT_THAT(order.Packet(0, 1), ElementsAre("0.0"));
  EXPECT_THAT(order.End(0, 2), ElementsAre("0.1!"));
}

TEST(Reorderer, LaterUnitsWaitForTheHead) {
  Order order;
  EXPECT_THAT(order.Packet(1, 0), IsEmpty());
  EXPECT_THAT(order.End(1, 1), IsEmpty());
  EXPECT_GT(order.reorderer.bytes(), 0U);
  EXPECT_THAT(order.Packet(0, 0), IsEmpty());
  EXPECT_THAT(order.End(0, 1), ElementsAre("0.0!", "1.0!"));
  EXPECT_EQ(order.reorderer.bytes(), 0U);
  EXPECT_EQ(order.reorderer.head(), UnitIndex{2});
}

TEST(Reorderer, NewHeadIsCutThroughAtOnce) {
  Order order;
  order.Packet(1, 0);
  order.Packet(1, 1);
  order.Packet(0, 0);
  EXPECT_THAT(order.End(0, 1), ElementsAre("0.0!", "1.0")) << "1.1 may be the last of its unit";
  EXPECT_THAT(order.Packet(1, 2), ElementsAre("1.1"));
}

TEST(Reorderer, RetriedUnitIsDeliveredOnce) {
  Order order;
  order.Packet(0, 0);
  order.Packet(0, 1);
  EXPECT_THAT(order.Packet(0, 0), IsEmpty());
  EXPECT_THAT(order.Packet(0, 1), IsEmpty());
  EXPECT_THAT(order.Packet(0, 2), ElementsAre("0.1"));
  EXPECT_THAT(order.End(0, 3), ElementsAre("0.2!"));
  EXPECT_THAT(order.Packet(0, 3), IsEmpty()) << "late duplicate of a unit that is gone";
  EXPECT_TRUE(order.status.ok());
}

TEST(Reorderer, UnitWithoutPacketsHasItsPlace) {
  Order order;
  EXPECT_THAT(order.End(1, 0), IsEmpty());
  order.Packet(0, 0);
  EXPECT_THAT(order.End(0, 1), ElementsAre("0.0!", "1.none!"));
  EXPECT_THAT(order.End(2, 0), ElementsAre("2.none!"));
}

TEST(Reorderer, MissingPacketIsAnError) {
  Order order;
  order.Packet(0, 1);
  EXPECT_FALSE(order.status.ok());
}

TEST(Reorderer, UnitThatEndsShortIsAnError) {
  Order order;
  order.Packet(0, 0);
  order.End(0, 2);
  EXPECT_FALSE(order.status.ok());
}

TEST(ReordererProperty, AnyArrivalOrderComesOutInOrderExactlyOnce) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::vector<std::int64_t> sizes(1 + random() % 12);
    for (auto& size : sizes) size = 1 + static_cast<std::int64_t>(random() % 9);
    std::vector<std::int64_t> sent(sizes.size(), 0);
    Order order;
    std::vector<std::string> got, expected;
    std::vector<std::size_t> open(sizes.size());
    for (std::size_t i = 0; i < open.size(); ++i) open[i] = i;
    while (!open.empty()) {
      const std::size_t pick = random() % open.size();
      const std::size_t unit = open[pick];
      const bool ended = sent[unit] == sizes[unit];
      const auto out = ended ? order.End(static_cast<std::int64_t>(unit), sizes[unit])
                             : order.Packet(static_cast<std::int64_t>(unit), sent[unit]++);
      ASSERT_TRUE(order.status.ok()) << "seed " << seed;
      got.insert(got.end(), out.begin(), out.end());
      if (ended) open.erase(open.begin() + static_cast<std::ptrdiff_t>(pick));
    }
    for (std::size_t unit = 0; unit < sizes.size(); ++unit) {
      for (std::int64_t place = 0; place < sizes[unit]; ++place) {
        expected.push_back(std::to_string(unit) + "." + std::to_string(place) +
                           (place + 1 == sizes[unit] ? "!" : ""));
      }
    }
    ASSERT_EQ(got, expected) << "seed " << seed;
    ASSERT_EQ(order.reorderer.bytes(), 0U);
  }
}

}  // namespace
}  // namespace gopmill
