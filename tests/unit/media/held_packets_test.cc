// SPDX-License-Identifier: Apache-2.0
#include "media/held_packets.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace gopmill::held_packets_test {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Kind = HeldPackets::Kind;

// H.264: an IDR, a recovery point that is not exact at once, and what refers to others.
const Bytes kIdr{0, 0, 0, 1, 0x65, 0x88, 0x80};
const Bytes kSlow{0, 0, 0, 1, 0x06, 6, 1, 0x80, 0, 0, 1, 0x41, 0x9A};
const Bytes kOther{0, 0, 0, 1, 0x41, 0x9A};

class HeldPacketsTest : public ::testing::Test {
 protected:
  HeldPacketsTest() {
    av::CodecParameters parameters(avcodec_parameters_alloc());
    parameters->codec_id = AV_CODEC_ID_H264;
    video_.parameters = std::move(parameters);
    video_.time_base = {1, 1000};
  }
  static av::Packet Packet(const Bytes& bytes, std::int64_t pts, std::int64_t dts) {
    av::Packet packet = av::NewPacket(bytes);
    packet->pts = pts;
    packet->dts = dts;
    return packet;
  }
  void Add(Kind kind, const Bytes& bytes, std::int64_t pts = 0, std::int64_t dts = 0) {
    held_.Add(kind, Packet(bytes, pts, dts));
  }

  VideoInfo video_;
  HeldPackets held_;
};

TEST_F(HeldPacketsTest, ComeOutAsTheyWentIn) {
  Add(Kind::kAudio, {1});
  Add(Kind::kVideo, {2});
  Add(Kind::kText, {3});
  const av::Packet packet = av::NewPacket();
  std::vector<Kind> kinds;
  Bytes bytes;
  while (!held_.empty()) {
    kinds.push_back(held_.Take(*packet));
    bytes.push_back(packet->data[0]);
    av_packet_unref(packet.get());
  }
  EXPECT_EQ(kinds, (std::vector{Kind::kAudio, Kind::kVideo, Kind::kText}));
  EXPECT_EQ(bytes, (Bytes{1, 2, 3}));
}

TEST_F(HeldPacketsTest, PicturesAreDroppedAndNothingElse) {
  Add(Kind::kVideo, kOther);
  Add(Kind::kAudio, {1});
  Add(Kind::kVideo, kOther);
  EXPECT_EQ(held_.DropPictures(), 2);
  EXPECT_EQ(held_.FirstPicture(), nullptr);
  const av::Packet packet = av::NewPacket();
  EXPECT_EQ(held_.Take(*packet), Kind::kAudio);
  EXPECT_TRUE(held_.empty());
}

TEST_F(HeldPacketsTest, TheFirstPictureIsTimedByItsDtsWhereItHasNoPts) {
  EXPECT_EQ(held_.FirstTime(video_), std::nullopt) << "there is none";
  Add(Kind::kAudio, {1}, 1);
  Add(Kind::kVideo, kIdr, AV_NOPTS_VALUE, 20);
  Add(Kind::kVideo, kOther, 10, 30);
  EXPECT_EQ(held_.FirstTime(video_), 20'000);
  held_.Clear();
  Add(Kind::kVideo, kIdr, 25, 20);
  EXPECT_EQ(held_.FirstTime(video_), 25'000);
  held_.Clear();
  Add(Kind::kVideo, kIdr, AV_NOPTS_VALUE, AV_NOPTS_VALUE);
  EXPECT_EQ(held_.FirstTime(video_), std::nullopt);
}

TEST_F(HeldPacketsTest, ASeekHasToGoFurtherBackWhereTheyBeginBehindItsPlace) {
  EXPECT_TRUE(held_.BeginsBehind(0, video_)) << "no picture was found";
  Add(Kind::kVideo, kIdr, 20, 20);
  EXPECT_FALSE(held_.BeginsBehind(20'000, video_));
  EXPECT_TRUE(held_.BeginsBehind(19'999, video_));
  held_.last()->flags |= AV_PKT_FLAG_DISCARD;
  EXPECT_TRUE(held_.BeginsBehind(20'000, video_)) << "what is hidden lies anywhere";
  held_.Clear();
  Add(Kind::kVideo, kIdr, AV_NOPTS_VALUE, AV_NOPTS_VALUE);
  EXPECT_FALSE(held_.BeginsBehind(0, video_));
}

TEST_F(HeldPacketsTest, RecoveryPointsBeginSlowly) {
  const auto add_key = [this](const Bytes& bytes) {
    held_.Clear();
    Add(Kind::kVideo, bytes);
    held_.last()->flags |= AV_PKT_FLAG_KEY;
    return held_.BeginsSlowly(video_);
  };
  EXPECT_FALSE(add_key(kIdr));
  EXPECT_TRUE(IsRandomAccess(*held_.last(), video_));
  EXPECT_TRUE(add_key(kSlow));
  EXPECT_TRUE(IsRandomAccess(*held_.last(), video_));
  EXPECT_FALSE(IsRandomAccess(*Packet(kOther, 0, 0), video_));
}

TEST_F(HeldPacketsTest, CaptionsAreThoseOfPictures) {
  const Bytes captions{0, 0, 0, 1, 'G', 'A', '9', '4', 3, 0};
  Add(Kind::kAudio, captions);
  EXPECT_FALSE(held_.HasCaptions());
  Add(Kind::kVideo, captions);
  EXPECT_TRUE(held_.HasCaptions());
}

TEST_F(HeldPacketsTest, EncryptedIsWhatSaysSo) {
  Add(Kind::kVideo, kIdr);
  EXPECT_FALSE(held_.HasEncrypted());
  ASSERT_NE(av_packet_new_side_data(held_.last(), AV_PKT_DATA_ENCRYPTION_INFO, 8), nullptr);
  EXPECT_TRUE(held_.HasEncrypted());
}

}  // namespace
}  // namespace gopmill::held_packets_test
