// SPDX-License-Identifier: Apache-2.0
#include "media/parameter_watch.h"

#include <gtest/gtest.h>

#include <vector>

namespace gopmill {
namespace {

using Bytes = std::vector<std::uint8_t>;

class Watched {
 public:
  explicit Watched(AVCodecID codec, const Bytes& header = {})
      : parameters_(avcodec_parameters_alloc()) {
    parameters_->codec_id = codec;
    if (header.empty()) return;
    parameters_->extradata =
        static_cast<std::uint8_t*>(av_mallocz(header.size() + AV_INPUT_BUFFER_PADDING_SIZE));
    std::copy(header.begin(), header.end(), parameters_->extradata);
    parameters_->extradata_size = static_cast<int>(header.size());
  }
  bool Changed(Bytes bytes) {
    const av::Packet packet = av::NewPacket();
    packet->data = bytes.data();
    packet->size = static_cast<int>(bytes.size());
    return watch_.Changed(*parameters_, *packet);
  }

 private:
  av::CodecParameters parameters_;
  ParameterWatch watch_;
};

Bytes Joined(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

const Bytes kIdr{0, 0, 1, 0x65, 0x88}, kSlice{0, 0, 1, 0x41, 0x9A}, kPps{0, 0, 1, 0x68, 1};

TEST(ParameterWatch, SeesAnotherSpsOfH264) {
  Watched watched(AV_CODEC_ID_H264);
  const Bytes one{0, 0, 0, 1, 0x67, 66, 0, 30, 7}, other{0, 0, 0, 1, 0x67, 66, 0, 40, 7};
  EXPECT_FALSE(watched.Changed(kSlice)) << "none";
  EXPECT_FALSE(watched.Changed(Joined({one, kPps, kIdr}))) << "the first";
  EXPECT_FALSE(watched.Changed(kSlice));
  EXPECT_FALSE(watched.Changed(Joined({one, {0}, kPps, kIdr})))
      << "a zero in front of a start code";
  EXPECT_FALSE(watched.Changed(Joined({one, one, kPps, kIdr}))) << "twice, once from a header";
  EXPECT_TRUE(watched.Changed(Joined({other, kPps, kIdr})));
  EXPECT_FALSE(watched.Changed(Joined({other, {0, 0, 1, 0x68, 2}, kIdr}))) << "another PPS";
  EXPECT_TRUE(watched.Changed(Joined({one, kPps, kIdr}))) << "and back";
}

TEST(ParameterWatch, DoesNotTakeBytesOfASliceForAnSps) {
  Watched watched(AV_CODEC_ID_H264);
  const Bytes one{0, 0, 1, 0x67, 66, 0, 30, 7};
  EXPECT_FALSE(watched.Changed(Joined({one, kIdr})));
  EXPECT_FALSE(watched.Changed(Joined({kSlice, {0, 0, 1, 0x67, 9, 9}})));
}

TEST(ParameterWatch, SeesAnotherSpsOfHevcAndBehindLengths) {
  Watched hevc(AV_CODEC_ID_HEVC);
  const Bytes slice{0, 0, 1, 38, 1};
  EXPECT_FALSE(hevc.Changed(Joined({{0, 0, 1, 66, 1, 5}, slice})));
  EXPECT_TRUE(hevc.Changed(Joined({{0, 0, 1, 66, 1, 6}, slice})));
  Watched avcc(AV_CODEC_ID_H264, {1, 100, 0, 30, 0xFF, 0xE1, 0});
  EXPECT_FALSE(avcc.Changed({0, 0, 0, 2, 0x67, 1, 0, 0, 0, 1, 0x65}));
  EXPECT_TRUE(avcc.Changed({0, 0, 0, 2, 0x67, 2, 0, 0, 0, 1, 0x65}));
}

TEST(ParameterWatch, OfMpegOnlyTheSizeCounts) {
  Watched watched(AV_CODEC_ID_MPEG2VIDEO);
  const auto sequence = [](std::uint8_t width, std::uint8_t rate) {
    return Bytes{0, 0, 1, 0xB3, width, 0x01, 0x20, rate, 0, 0, 1, 0xB8, 0, 8, 0, 0x40};
  };
  EXPECT_FALSE(watched.Changed(sequence(0x16, 0x13)));
  EXPECT_FALSE(watched.Changed(sequence(0x16, 0x14)));
  EXPECT_TRUE(watched.Changed(sequence(0x2C, 0x13)));
  EXPECT_FALSE(watched.Changed({0, 0, 1, 0, 0, 8}));
}

TEST(ParameterWatch, KnowsNothingOfOthers) {
  Watched watched(AV_CODEC_ID_VP9);
  EXPECT_FALSE(watched.Changed({1, 2, 3}));
  EXPECT_FALSE(watched.Changed({4, 5, 6}));
  Watched h264(AV_CODEC_ID_H264);
  EXPECT_FALSE(h264.Changed({}));
  EXPECT_FALSE(h264.Changed({0, 0, 1}));
}

}  // namespace
}  // namespace gopmill
