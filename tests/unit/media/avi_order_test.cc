// SPDX-License-Identifier: Apache-2.0
#include "media/avi_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace gopmill {
namespace {

using ::testing::ElementsAre;

constexpr int kVops = 0, kHeard = 1;
constexpr int kEndCode = AVERROR_EOF;

av::Packet PacketAt(int track, std::int64_t dts, const std::string& payload) {
  av::Packet packet = av::NewPacket();
  EXPECT_EQ(av_new_packet(packet.get(), static_cast<int>(payload.size())), 0);
  std::memcpy(packet->data, payload.data(), payload.size());
  packet->stream_index = track;
  packet->dts = dts;
  return packet;
}

// Of this type, as vop_coding_type has it.
std::string Vop(char type, const std::string& in_front = "") {
  const auto code = std::string("IPB").find(type) << 6U;
  return in_front + std::string("\0\0\1\xB6", 4) + static_cast<char>(code) + "rest";
}

std::string UserData(const std::string& text) { return std::string("\0\0\1\xB2", 4) + text; }

// What comes out for pictures of these types in decoding order.
class ToldOrder {
 public:
  explicit ToldOrder(const char* container = "avi", const std::string& header = "") {
    auto parameters = av::CodecParameters(avcodec_parameters_alloc());
    parameters->codec_id = AV_CODEC_ID_MPEG4;
    parameters->video_delay = 1;
    parameters->extradata =
        static_cast<std::uint8_t*>(av_mallocz(header.size() + AV_INPUT_BUFFER_PADDING_SIZE));
    std::memcpy(parameters->extradata, header.data(), header.size());
    parameters->extradata_size = static_cast<int>(header.size());
    AVInputFormat format{};
    format.name = container;
    order_.Begin(format, kVops, *parameters);
  }
  ToldOrder& Push(int track, std::int64_t dts, const std::string& payload) {
    order_.Push(PacketAt(track, dts, payload));
    Take();
    return *this;
  }
  ToldOrder& Pictures(const std::string& types) {
    for (const char type : types) Push(kVops, next_++, Vop(type));
    return *this;
  }
  int Take() {
    const av::Packet packet = av::NewPacket();
    int code = 0;
    while ((code = order_.Pop(*packet)) == 0) {
      out_.emplace_back(packet->stream_index, packet->pts, packet->dts);
      av_packet_unref(packet.get());
    }
    return code;
  }
  int Finish() {
    order_.Finish(kEndCode);
    return Take();
  }
  AviOrder& order() { return order_; }
  // Those that have come: track, pts, dts.
  std::vector<std::tuple<int, std::int64_t, std::int64_t>>& out() { return out_; }
  std::vector<std::int64_t> times() const {
    std::vector<std::int64_t> times;
    for (const auto& [track, pts, dts] : out_) times.push_back(pts);
    return times;
  }

 private:
  AviOrder order_;
  std::int64_t next_ = 0;
  std::vector<std::tuple<int, std::int64_t, std::int64_t>> out_;
};

TEST(AviOrder, APictureIsShownWhenTheNextThatIsNoBIsDecoded) {
  ToldOrder order;
  order.Pictures("IPBBPBBIBB");
  EXPECT_THAT(order.times(), ElementsAre(0, 3, 1, 2, 6, 4, 5)) << "the I picture has to wait";
  EXPECT_EQ(order.Finish(), kEndCode);
  EXPECT_THAT(order.times(), ElementsAre(0, 3, 1, 2, 6, 4, 5, 9, 7, 8));
  for (const auto& [track, pts, dts] : order.out()) EXPECT_LE(dts, pts);
}

TEST(AviOrder, WithoutBPicturesTheyAreShownAsTheyAreDecoded) {
  ToldOrder order;
  order.Pictures("IPPP").Finish();
  EXPECT_THAT(order.times(), ElementsAre(0, 1, 2, 3));
}

TEST(AviOrder, APictureThatAnEncoderLeftOutLeavesAGap) {
  ToldOrder order;
  for (const auto& [dts, type] : {std::pair{0, 'I'}, {1, 'P'}, {3, 'B'}, {4, 'P'}}) {
    order.Push(kVops, dts, Vop(type));
  }
  order.Finish();
  EXPECT_THAT(order.times(), ElementsAre(0, 3, 2, 4));
}

TEST(AviOrder, SoundKeepsItsPlaceAndItsTime) {
  ToldOrder order;
  order.Push(kHeard, 5, "a").Push(kVops, 0, Vop('I')).Push(kHeard, 6, "b");
  EXPECT_EQ(order.out().size(), 1) << "what came in front waits for nothing";
  order.Push(kVops, 1, Vop('P')).Finish();
  EXPECT_THAT(order.out(),
              ElementsAre(std::tuple(kHeard, AV_NOPTS_VALUE, 5), std::tuple(kVops, 0, -1),
                          std::tuple(kHeard, AV_NOPTS_VALUE, 6), std::tuple(kVops, 1, 0)));
}

TEST(AviOrder, NothingWaitsForeverForAPicture) {
  ToldOrder order;
  order.Push(kVops, 0, Vop('I'));
  for (std::size_t n = 0; n < kMaxOrderedPackets; ++n) order.Push(kHeard, 0, "a");
  ASSERT_EQ(order.out().size(), kMaxOrderedPackets + 1);
  EXPECT_EQ(order.times().front(), 0);
}

TEST(AviOrder, BehindASeekItBeginsAfresh) {
  ToldOrder order;
  order.Pictures("IP");
  order.order().Clear();
  order.out().clear();
  order.Push(kVops, 100, Vop('I')).Push(kVops, 101, Vop('B'));
  EXPECT_EQ(order.Finish(), kEndCode);
  EXPECT_THAT(order.times(), ElementsAre(101, 100));
}

TEST(AviOrder, APackedBitstreamIsUnpacked) {
  // A picture that nothing is coded of stands where the last B picture belongs.
  const std::string header = UserData("DivX503b1393p");
  const std::string stuffed(30, '\x7F');
  ToldOrder order("avi", header);
  order.Push(kVops, 0, Vop('I', header) + stuffed);
  order.Push(kVops, 1, Vop('P') + stuffed + Vop('B') + stuffed);
  order.Push(kVops, 2, Vop('B') + stuffed).Push(kVops, 3, Vop('P'));
  order.Push(kVops, 4, Vop('P') + stuffed).Finish();
  EXPECT_TRUE(order.order().on());
  EXPECT_THAT(order.times(), ElementsAre(0, 3, 1, 2, 4));
}

TEST(AviOrder, TellsNothingOfOthers) {
  const std::string packed = UserData("DivX503b1393p");
  EXPECT_FALSE(ToldOrder("matroska").order().on());
  EXPECT_TRUE(ToldOrder("avi").order().on());
  ToldOrder order;
  order.Push(kVops, 0, Vop('I', packed)).Push(kVops, 1, Vop('P'));
  EXPECT_FALSE(order.order().on());
  EXPECT_THAT(order.times(), ElementsAre(AV_NOPTS_VALUE, AV_NOPTS_VALUE));
}

}  // namespace
}  // namespace gopmill
