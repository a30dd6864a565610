// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/rtp_payload.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace gopmill {
namespace {

using Bytes = std::vector<std::uint8_t>;

// With so many bytes behind what it says of its tables.
Bytes Jpeg(std::uint8_t q, std::uint8_t precision, std::uint8_t length, std::size_t bytes,
           std::uint8_t type = 1) {
  Bytes payload{0, 0, 0, 0, type, q, 10, 10};
  if (type >= 64) payload.insert(payload.end(), {0, 1, 0xff, 0xff});
  payload.insert(payload.end(), {0, precision, 0, length});
  payload.resize(payload.size() + bytes);
  return payload;
}

TEST(PayloadRules, APictureBringsTheTablesThatAreCopied) {
  const auto rules = PayloadRules::Jpeg();
  for (const std::uint8_t type : {std::uint8_t{1}, std::uint8_t{65}}) {
    EXPECT_TRUE(rules.Allow(Jpeg(255, 0, 128, 128, type)));
    EXPECT_TRUE(rules.Allow(Jpeg(255, 0, 64, 128, type))) << "one table, as from ffmpeg";
    EXPECT_TRUE(rules.Allow(Jpeg(255, 1, 192, 192, type)));
    EXPECT_TRUE(rules.Allow(Jpeg(255, 0, 0, 0, type))) << "none is copied";
    EXPECT_FALSE(rules.Allow(Jpeg(255, 0, 128, 127, type)));
    EXPECT_FALSE(rules.Allow(Jpeg(128, 0, 1, 1, type)));
    EXPECT_FALSE(rules.Allow(Jpeg(255, 1, 128, 191, type)));
    EXPECT_FALSE(rules.Allow(Jpeg(255, 3, 192, 255, type)));
  }
  EXPECT_TRUE(rules.Allow(Jpeg(80, 3, 1, 1))) << "by number";
  Bytes later = Jpeg(255, 0, 1, 1);
  later[3] = 1;  // not the first of its picture
  EXPECT_TRUE(rules.Allow(later));
  EXPECT_TRUE(rules.Allow(Bytes(3)));
}

TEST(PayloadRules, AccessUnitsHaveBytes) {
  const auto rules = PayloadRules::Units({.size = 13, .index = 3, .index_delta = 3});
  EXPECT_TRUE(rules.Allow(Bytes{0, 16, 0, 3 << 3, 1, 2, 3}));
  EXPECT_TRUE(rules.Allow(Bytes{0, 32, 0, 1 << 3, 0, 2 << 3, 1, 2, 3}));
  EXPECT_TRUE(rules.Allow(Bytes{0, 16, 1, 0, 1, 2, 3})) << "a piece of a larger one";
  EXPECT_FALSE(rules.Allow(Bytes{0, 16, 0, 0, 1, 2, 3}));
  EXPECT_FALSE(rules.Allow(Bytes{0, 32, 0, 1 << 3, 0, 0, 1, 2, 3}));
  EXPECT_FALSE(rules.Allow(Bytes{0xff, 0xff, 0, 1 << 3}));
  EXPECT_FALSE(rules.Allow(Bytes{0}));
  // Fields that are wider than the depayloader thinks end before the packet does.
  const auto wide = PayloadRules::Units({.size = 32, .index = 32, .index_delta = 32});
  EXPECT_FALSE(wide.Allow(Bytes{0, 32, 0, 0, 0, 1, 9, 9, 9, 9}));
  EXPECT_TRUE(PayloadRules::Units({}).Allow(Bytes{1}));
}

TEST(PayloadRules, EveryPacketHasAPayload) {
  for (const auto& rules : {PayloadRules(), PayloadRules::H264(), PayloadRules::H265(),
                            PayloadRules::Jpeg(), PayloadRules::Units({})}) {
    EXPECT_FALSE(rules.Allow({}));
  }
  EXPECT_TRUE(PayloadRules().Allow(Bytes{0}));
}

TEST(PayloadRules, PiecesAndSlicesHaveBytes) {
  const auto avc = PayloadRules::H264();
  for (const Bytes& good : {Bytes{0x65, 0x88}, Bytes{0x0a}, Bytes{0x7c, 0x85, 1}, Bytes{0x7d, 5, 1},
                            Bytes{0x78, 0, 1, 0x0a, 0, 2, 0x65, 0x88},
                            Bytes{0x78, 0, 0, 0, 9, 9, 1}, Bytes{0x79, 0, 1, 0, 2, 0x41, 0x9a}}) {
    EXPECT_TRUE(avc.Allow(good)) << testing::PrintToString(good);
  }
  for (const Bytes& bad :
       {Bytes{0x65}, Bytes{0x7c}, Bytes{0x7c, 0x85}, Bytes{0x7c, 5}, Bytes{0x7d, 5},
        Bytes{0x78, 0, 1, 0x65}, Bytes{0x78, 0, 9, 0x41}, Bytes{0x79, 0}}) {
    EXPECT_FALSE(avc.Allow(bad)) << testing::PrintToString(bad);
  }
  const auto hevc = PayloadRules::H265();
  for (const Bytes& good : {Bytes{0x26, 1, 0xaf}, Bytes{0x48, 1}, Bytes{0x62, 1, 0x93, 1},
                            Bytes{0x60, 1, 0, 2, 0x48, 1, 0, 3, 2, 1, 0xd0}}) {
    EXPECT_TRUE(hevc.Allow(good)) << testing::PrintToString(good);
  }
  for (const Bytes& bad : {Bytes{0x26}, Bytes{0x26, 1}, Bytes{0x62, 1}, Bytes{0x62, 1, 0x93},
                           Bytes{0x62, 1, 0x13}, Bytes{0x60, 1, 0, 2, 0x26, 1}, Bytes{0x60}}) {
    EXPECT_FALSE(hevc.Allow(bad)) << testing::PrintToString(bad);
  }
}

}  // namespace
}  // namespace gopmill
