// SPDX-License-Identifier: Apache-2.0
#include "codec/encoder_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "codec/vbv.h"
#include "tests/unit/codec/test_frames.h"

namespace gopmill {
namespace {

using Bytes = std::vector<std::uint8_t>;

av::Packet PacketOf(const Bytes& bytes) {
  av::Packet packet = av::NewPacket();
  EXPECT_GE(av_new_packet(packet.get(), static_cast<int>(bytes.size())), 0);
  if (!bytes.empty()) std::memcpy(packet->data, bytes.data(), bytes.size());
  return packet;
}

Bytes BytesOf(const AVPacket& packet) { return {packet.data, packet.data + packet.size}; }

bool Contains(const AVPacket& packet, std::string_view text) {
  const std::string_view data(reinterpret_cast<const char*>(packet.data),
                              static_cast<std::size_t>(packet.size));
  return data.find(text) != std::string_view::npos;
}

Bytes Text(bool start_code) {
  const Bytes body = {0x06, 0x05, 0x12, 0xdc, 0x45, 0xe9, 0xbd, 0xe6, 0xd9, 0x48, 0xb7,
                      0x96, 0x2c, 0xd8, 0x20, 0xd9, 0x23, 0xee, 0xef, 'h',  'i',  0x80};
  Bytes nal =
      start_code ? Bytes{0, 0, 0, 1} : Bytes{0, 0, 0, static_cast<std::uint8_t>(body.size())};
  nal.insert(nal.end(), body.begin(), body.end());
  return nal;
}

Bytes Join(const Bytes& a, const Bytes& b) {
  Bytes both = a;
  both.insert(both.end(), b.begin(), b.end());
  return both;
}

TEST(StripEncoderInfo, TakesX264sTextOutOfARealPacketAndItStillDecodes) {
  const testing::Scene scene;
  auto unit = testing::EncodeWithParameters(testing::SpecFor(VideoCodec::kH264, scene), 300'000,
                                            scene, 0, 8);
  ASSERT_TRUE(Contains(*unit.packets[0], "x264"));
  const int before = unit.packets[0]->size;
  const std::int64_t text = EncoderInfoBytes(*unit.packets[0]);
  EXPECT_GT(text, 300);
  EXPECT_TRUE(StripEncoderInfo(*unit.packets[0]));
  EXPECT_FALSE(Contains(*unit.packets[0], "x264"));
  EXPECT_EQ(unit.packets[0]->size, before - text);
  EXPECT_EQ(EncoderInfoBytes(*unit.packets[0]), 0);
  EXPECT_EQ(EncoderInfoBytes(*unit.packets[1]), 0);
  EXPECT_FALSE(StripEncoderInfo(*unit.packets[0])) << "nothing is left to strip";
  EXPECT_FALSE(StripEncoderInfo(*unit.packets[1]));
}

TEST(StripEncoderInfo, WorksWithStartCodesAndWithLengths) {
  const Bytes annex_b_slice = {0, 0, 1, 0x65, 1, 2, 3};
  av::Packet packet = PacketOf(Join(Text(true), annex_b_slice));
  EXPECT_TRUE(StripEncoderInfo(*packet));
  EXPECT_EQ(BytesOf(*packet), annex_b_slice);

  const Bytes length_slice = {0, 0, 0, 4, 0x65, 1, 2, 3};
  packet = PacketOf(Join(length_slice, Join(Text(false), length_slice)));
  EXPECT_TRUE(StripEncoderInfo(*packet));
  EXPECT_EQ(BytesOf(*packet), Join(length_slice, length_slice));
}

TEST(StripEncoderInfo, LeavesOtherMessagesAndOtherDataAlone) {
  const std::vector<Bytes> others = {
      {},
      {1},
      {0, 0, 0, 1},
      {0, 0, 1, 0x06},
      {0, 0, 1, 0x06, 0x05, 0x02, 1, 2, 0x80, 0, 0, 1, 0x65, 9},  // another user data message
      {0, 0, 1, 0x06, 0x01, 0x01, 0x40, 0x80},                    // picture timing
      {0x12, 0x00, 0x0a, 0x0b},                                   // an AV1 unit
      {0, 0, 0, 200, 0x06, 0x05},                                 // a length that does not fit
  };
  for (const Bytes& bytes : others) {
    av::Packet packet = PacketOf(bytes);
    EXPECT_FALSE(StripEncoderInfo(*packet));
    EXPECT_EQ(BytesOf(*packet), bytes);
  }
}

TEST(StripEncoderInfo, DoesNotWriteIntoASharedPacket) {
  av::Packet packet = PacketOf(Join(Text(true), {0, 0, 1, 0x65, 1}));
  const av::Packet other = av::Ref(*packet);
  const Bytes before = BytesOf(*other);
  EXPECT_TRUE(StripEncoderInfo(*packet));
  EXPECT_EQ(BytesOf(*other), before);
}

TEST(InBandParameterSetHash, TellsOtherSetsApartAndNothingElse) {
  const Bytes sps = {0, 0, 0, 1, 0x67, 0x42, 0x00, 0x1e}, pps = {0, 0, 1, 0x68, 0xce, 0x3c};
  const Bytes other_pps = {0, 0, 1, 0x68, 0xce, 0x3d}, slice = {0, 0, 1, 0x65, 1, 2, 3};
  const auto hash = [](const Bytes& bytes) {
    return InBandParameterSetHash(*PacketOf(bytes), AV_CODEC_ID_H264);
  };
  const std::uint64_t sets = hash(Join(Join(sps, pps), slice));
  EXPECT_NE(sets, 0U);
  EXPECT_EQ(hash(Join(Join(Text(true), sps), Join(pps, {0, 0, 1, 0x65, 9, 9}))), sets)
      << "neither the text nor the picture counts";
  EXPECT_NE(hash(Join(Join(sps, other_pps), slice)), sets);
  EXPECT_EQ(hash(slice), 0U);
  EXPECT_EQ(hash({}), 0U);
  EXPECT_EQ(InBandParameterSetHash(*PacketOf(Join(sps, slice)), AV_CODEC_ID_VP9), 0U);
}

// A picture of 359 bytes in MP4 begins like a start code and a sequence parameter set: 00 00 01 67.
TEST(InBandParameterSetHash, DoesNotTakeALengthForAStartCode) {
  Bytes picture = {0, 0, 1, 0x67, 0x65};
  picture.resize(4 + 0x167, 0x88);
  EXPECT_EQ(InBandParameterSetHash(*PacketOf(picture), AV_CODEC_ID_H264), 0U);
  picture.push_back(0x88);  // no length: a set it is
  EXPECT_NE(InBandParameterSetHash(*PacketOf(picture), AV_CODEC_ID_H264), 0U);
}

TEST(VbvLedger, CountsEachPictureThatIsLateAndWaitsForIt) {
  // 1,000 bytes per frame into a buffer of 10,000 that starts half full.
  VbvLedger ledger(200'000, 80'000, {25, 1});
  EXPECT_TRUE(ledger.Add(5000));
  EXPECT_FALSE(ledger.Add(1001)) << "one byte too many";
  EXPECT_TRUE(ledger.Add(1000)) << "one fault is one fault";
  EXPECT_EQ(ledger.underflows(), 1);
  EXPECT_DOUBLE_EQ(ledger.lowest_bits(), -8);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(ledger.Add(0));
  EXPECT_DOUBLE_EQ(ledger.level_bits(), 80'000) << "the buffer never holds more than its size";
}

}  // namespace
}  // namespace gopmill
