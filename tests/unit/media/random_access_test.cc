// SPDX-License-Identifier: Apache-2.0
#include "media/random_access.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace gopmill {
namespace {

using Bytes = std::vector<std::uint8_t>;

av::CodecParameters Parameters(AVCodecID codec, const Bytes& extradata = {}) {
  av::CodecParameters parameters(avcodec_parameters_alloc());
  parameters->codec_id = codec;
  if (!extradata.empty()) {
    parameters->extradata =
        static_cast<std::uint8_t*>(av_mallocz(extradata.size() + AV_INPUT_BUFFER_PADDING_SIZE));
    std::copy(extradata.begin(), extradata.end(), parameters->extradata);
    parameters->extradata_size = static_cast<int>(extradata.size());
  }
  return parameters;
}

RandomAccess Classify(AVCodecID codec, const Bytes& payload, bool key, const Bytes& extra = {}) {
  return ClassifyPacket(*Parameters(codec, extra), payload, key);
}

// 7 bytes of avcC with 4-byte NAL lengths.
const Bytes kAvcC{1, 100, 0, 30, 0xFF, 0xE1, 0};

TEST(RandomAccess, H264IdrIsClosedInBothFraming) {
  EXPECT_EQ(Classify(AV_CODEC_ID_H264, {0, 0, 0, 1, 0x65, 0x88, 0x80}, true),
            RandomAccess::kClosed);
  EXPECT_EQ(Classify(AV_CODEC_ID_H264, {0, 0, 0, 3, 0x65, 0x88, 0x80}, true, kAvcC),
            RandomAccess::kClosed);
}

TEST(RandomAccess, H264IdrBehindParameterSetsIsFound) {
  const Bytes packet{0, 0, 0, 1, 0x67, 1, 2, 0, 0, 1, 0x68, 3, 0, 0, 1, 0x65, 0x88};
  EXPECT_EQ(Classify(AV_CODEC_ID_H264, packet, true), RandomAccess::kClosed);
}

TEST(RandomAccess, H264RecoveryPointIsOpen) {
  const Bytes sei_then_slice{0, 0, 0, 1, 0x06, 6, 1, 0x80, 0, 0, 1, 0x41, 0x9A};
  EXPECT_EQ(Classify(AV_CODEC_ID_H264, sei_then_slice, true), RandomAccess::kRecovery);
  EXPECT_EQ(Classify(AV_CODEC_ID_H264, {0, 0, 0, 1, 0x41, 0x9A}, false), RandomAccess::kNone);
}

TEST(RandomAccess, H264RecoveryPointsThatSayTheyAreExactAre) {
  const auto unit = [](Bytes messages) {
    Bytes packet{0, 0, 0, 1, 0x06};
    packet.insert(packet.end(), messages.begin(), messages.end());
    packet.insert(packet.end(), {0x80, 0, 0, 1, 0x41, 0x9A});
    return packet;
  };
  const Bytes at_once{6, 1, 0xC4}, inexact{6, 1, 0x84}, after_frames{6, 1, 0x58};
  EXPECT_EQ(Classify(AV_CODEC_ID_H264, unit(at_once), true), RandomAccess::kOpenGop);
  EXPECT_EQ(Classify(AV_CODEC_ID_H264, unit(inexact), true), RandomAccess::kRecovery);
  EXPECT_EQ(Classify(AV_CODEC_ID_H264, unit(after_frames), true), RandomAccess::kRecovery);
  EXPECT_EQ(Classify(AV_CODEC_ID_H264, unit({1, 2, 0xC4, 0xC4, 6, 1, 0xC4}), true),
            RandomAccess::kOpenGop)
      << "behind another message";
  EXPECT_EQ(Classify(AV_CODEC_ID_H264, unit({1, 4, 0, 0, 3, 6, 1, 6, 1, 0xC4}), true),
            RandomAccess::kOpenGop)
      << "behind one with an emulation prevention byte";
  EXPECT_EQ(Classify(AV_CODEC_ID_H264, unit({1, 200, 6, 1, 0xC4}), true), RandomAccess::kRecovery)
      << "inside of another message";
}

TEST(RandomAccess, HevcIdrIsClosedCraIsExact) {
  const auto nal = [](int type) {
    return Bytes{0, 0, 0, 1, static_cast<std::uint8_t>(type << 1), 1, 0xAF};
  };
  EXPECT_EQ(Classify(AV_CODEC_ID_HEVC, nal(19), true), RandomAccess::kClosed);
  EXPECT_EQ(Classify(AV_CODEC_ID_HEVC, nal(20), true), RandomAccess::kClosed);
  EXPECT_EQ(Classify(AV_CODEC_ID_HEVC, nal(21), true), RandomAccess::kOpenGop);
  EXPECT_EQ(Classify(AV_CODEC_ID_HEVC, nal(1), false), RandomAccess::kNone);
}

TEST(RandomAccess, MpegFollowsTheClosedGopFlag) {
  const auto gop = [](std::uint8_t flags) {
    return Bytes{0, 0, 1, 0xB8, 0, 8, 0, flags, 0, 0, 1, 0, 0, 8};
  };
  EXPECT_EQ(Classify(AV_CODEC_ID_MPEG1VIDEO, gop(0x40), true), RandomAccess::kClosed);
  EXPECT_EQ(Classify(AV_CODEC_ID_MPEG2VIDEO, gop(0x00), true), RandomAccess::kOpenGop);
  EXPECT_EQ(Classify(AV_CODEC_ID_MPEG2VIDEO, {0, 0, 1, 0, 0, 8}, true), RandomAccess::kRecovery)
      << "a key picture without a GOP header promises nothing";
}

TEST(RandomAccess, OtherCodecsTrustTheContainer) {
  EXPECT_EQ(Classify(AV_CODEC_ID_VP9, {1, 2, 3}, true), RandomAccess::kClosed);
  EXPECT_EQ(Classify(AV_CODEC_ID_VP9, {1, 2, 3}, false), RandomAccess::kNone);
  EXPECT_EQ(Classify(AV_CODEC_ID_MJPEG, {1}, true), RandomAccess::kClosed);
}

TEST(RandomAccess, JpegWithoutItsQuantisersNeedsThePictureBefore) {
  const auto classify = [](const Bytes& tables, std::uint8_t frame) {
    Bytes packet{0xFF, 0xD8, 0xFF, 0xFE, 0, 4, 0xFF, 0xDB};  // a comment that looks like tables
    packet.insert(packet.end(), tables.begin(), tables.end());
    packet.insert(packet.end(), {0xFF, frame, 0, 3, 1, 0xFF, 0xFF, 0xDA, 0, 2, 9, 9, 0xFF, 0xD9});
    return Classify(AV_CODEC_ID_MJPEG, packet, true);
  };
  constexpr std::uint8_t kBaseline = 0xC0, kLossless = 0xC3;
  const Bytes none, junk{0, 1}, quantisers{0xFF, 0xDB, 0, 3, 1}, huffman{0xFF, 0xC4, 0, 3, 1};
  EXPECT_EQ(classify(quantisers, kBaseline), RandomAccess::kClosed) << "usual Huffman tables";
  EXPECT_EQ(classify(none, kBaseline), RandomAccess::kNone);
  EXPECT_EQ(classify(junk, kBaseline), RandomAccess::kNone);
  EXPECT_EQ(classify(huffman, kBaseline), RandomAccess::kNone);
  EXPECT_EQ(classify(huffman, kLossless), RandomAccess::kClosed);
}

TEST(RandomAccess, GarbageIsClassifiedWithoutReadingBeyondIt) {
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    Bytes payload(random() % 40);
    for (auto& byte : payload) byte = static_cast<std::uint8_t>(random() % 4 == 0 ? random() : 0);
    for (const AVCodecID codec : {AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_MPEG2VIDEO,
                                  AV_CODEC_ID_MPEG4, AV_CODEC_ID_MJPEG, AV_CODEC_ID_AV1}) {
      Classify(codec, payload, true);
      Classify(codec, payload, true, kAvcC);
    }
  }
}

// FFmpeg marks all pictures of H.263 in AVI and Matroska as key pictures.
TEST(RandomAccess, OldCodecsTellByTheirHeaders) {
  struct Case {
    AVCodecID codec;
    Bytes intra, inter;
  };
  const Case cases[] = {
      {AV_CODEC_ID_H263, {0, 0, 0x80, 2, 0x08, 3}, {0, 0, 0x80, 6, 0x0A, 2}},
      // An extended header with its options, and one without.
      {AV_CODEC_ID_H263,
       {0, 0, 0x80, 2, 0x1C, 0xE0, 0, 0x01, 0x04},
       {0, 0, 0x80, 2, 0x1C, 0xE0, 0, 0x05, 0x04}},
      {AV_CODEC_ID_H263, {0, 0, 0x80, 2, 0x1C, 0x04}, {0, 0, 0x80, 2, 0x1C, 0x14}},
      {AV_CODEC_ID_FLV1, {0, 0, 0x84, 0, 0x50, 0x30, 0x11}, {0, 0, 0x84, 4, 0x50, 0x30, 0x31}},
      {AV_CODEC_ID_FLV1, {0, 0, 0x84, 0x01, 0x10}, {0, 0, 0x84, 0x01, 0x30}},
      {AV_CODEC_ID_MSMPEG4V2, {0x07, 0x78}, {0x45, 0xFF}},
      {AV_CODEC_ID_MSMPEG4V3, {0x07, 0x7B}, {0x45, 0x7F}},
      {AV_CODEC_ID_WMV1, {0x05, 0x7C}, {0x45, 0x3F}},
      {AV_CODEC_ID_WMV2, {0x00, 0x10}, {0x88, 0x23}},
  };
  for (const Case& c : cases) {
    const char* name = avcodec_get_name(c.codec);
    EXPECT_EQ(Classify(c.codec, c.intra, true), RandomAccess::kClosed) << name;
    EXPECT_EQ(Classify(c.codec, c.inter, true), RandomAccess::kNone) << name;
    EXPECT_EQ(Classify(c.codec, c.intra, false), RandomAccess::kNone) << name;
    EXPECT_EQ(Classify(c.codec, {}, true), RandomAccess::kNone) << name;
  }
}

// AVI marks each picture as a key where it is read without its index.
TEST(RandomAccess, PicturesOfFfv1AndVp6SayWhatTheyAre) {
  const auto is_key = [](AVCodecID codec, const Bytes& payload) {
    return Classify(codec, payload, true) == RandomAccess::kClosed;
  };
  EXPECT_TRUE(is_key(AV_CODEC_ID_FFV1, {0x7F, 0x80, 1}));
  EXPECT_FALSE(is_key(AV_CODEC_ID_FFV1, {0x7F, 0x7F, 1}));
  for (const AVCodecID codec : {AV_CODEC_ID_VP6, AV_CODEC_ID_VP6F}) {
    EXPECT_TRUE(is_key(codec, {0x46, 0, 0, 0x80}));
    EXPECT_FALSE(is_key(codec, {0x86, 0, 0, 0}));
  }
  EXPECT_TRUE(is_key(AV_CODEC_ID_VP6A, {0x80, 0, 0, 0x46}));
  EXPECT_FALSE(is_key(AV_CODEC_ID_VP6A, {0, 0, 0, 0x86}));
}

}  // namespace
}  // namespace gopmill
