// SPDX-License-Identifier: Apache-2.0
#include "codec/audio_decoder.h"

extern "C" {
#include <libavutil/intreadwrite.h>
}

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "codec/amr_frames.h"

namespace gopmill {
namespace {

using ::testing::ElementsAre;

// Frames of these types, of zeros: decodable speech, a description of noise, nothing at all.
std::vector<std::uint8_t> Amr(AVCodecID codec, const std::vector<int>& types) {
  std::vector<std::uint8_t> bytes;
  for (const int type : types) {
    const auto head = static_cast<std::uint8_t>(type << 3 | 4);
    bytes.push_back(head);
    bytes.resize(bytes.size() + static_cast<std::size_t>(AmrFrameBytes(codec, head)) - 1);
  }
  return bytes;
}

struct Speech {
  std::int64_t samples = 0, damaged = 0;
  std::vector<std::int64_t> pts = {};
};

// Samples that a container cuts off a packet.
struct Cuts {
  std::uint32_t front = 0, end = 0;
};

Speech Decode(AVCodecID codec, int rate, std::span<const std::uint8_t> bytes,
              const Cuts& cuts = {}) {
  av::CodecParameters parameters(avcodec_parameters_alloc());
  parameters->codec_type = AVMEDIA_TYPE_AUDIO;
  parameters->codec_id = codec;
  parameters->sample_rate = rate;
  av_channel_layout_default(&parameters->ch_layout, 1);
  const auto decoder = AudioDecoder::Open(*parameters, {1, 1000}).value();
  const av::Packet packet = av::NewPacket(bytes);
  packet->pts = packet->dts = 500;
  if (cuts.front != 0 || cuts.end != 0) {
    std::uint8_t* data = av_packet_new_side_data(packet.get(), AV_PKT_DATA_SKIP_SAMPLES, 10);
    std::fill_n(data, 10, std::uint8_t{0});
    AV_WL32(data, cuts.front);
    AV_WL32(data + 4, cuts.end);
  }
  Speech speech;
  EXPECT_TRUE(decoder->Send(packet.get()));
  for (av::Frame frame = av::NewFrame(); decoder->Receive(*frame); frame = av::NewFrame()) {
    speech.pts.push_back(frame->pts);
    speech.samples += frame->nb_samples;
  }
  speech.damaged = decoder->damaged();
  return speech;
}

// 3GP of phones: one sample has 100 ms or more of speech.
TEST(AudioDecoder, DecodesAllFramesOfAPacketOfAmr) {
  const Speech narrow = Decode(AV_CODEC_ID_AMR_NB, 8000, Amr(AV_CODEC_ID_AMR_NB, {7, 0, 4, 3, 1}));
  EXPECT_EQ(narrow.samples, 5 * 160);
  EXPECT_THAT(narrow.pts, ElementsAre(500, 520, 540, 560, 580));
  EXPECT_EQ(Decode(AV_CODEC_ID_AMR_WB, 16000, Amr(AV_CODEC_ID_AMR_WB, {8, 2, 0})).samples, 3 * 320);
}

// FFmpeg decodes no comfort noise. What comes behind it stays in its place.
TEST(AudioDecoder, PausesOfAmrMoveNothing) {
  EXPECT_THAT(Decode(AV_CODEC_ID_AMR_NB, 8000, Amr(AV_CODEC_ID_AMR_NB, {7, 8, 7})).pts,
              ElementsAre(500, 540));
}

TEST(AudioDecoder, AFrameOfAmrThatIsCutOffIsDamaged) {
  auto bytes = Amr(AV_CODEC_ID_AMR_NB, {7, 7});
  bytes.resize(bytes.size() - 5);
  const Speech speech = Decode(AV_CODEC_ID_AMR_NB, 8000, bytes);
  EXPECT_EQ(speech.samples, 160);
  EXPECT_EQ(speech.damaged, 1);
}

// An edit list that begins or ends inside of a sample of several frames.
TEST(AudioDecoder, CutsAPacketOfAmrOnce) {
  const auto decode = [](const Cuts& cuts) {
    return Decode(AV_CODEC_ID_AMR_NB, 8000, Amr(AV_CODEC_ID_AMR_NB, {7, 7, 7, 7, 7}), cuts);
  };
  const Speech late = decode({.front = 200});
  EXPECT_EQ(late.samples, 800 - 200);
  EXPECT_THAT(late.pts, ElementsAre(525, 540, 560, 580));
  EXPECT_EQ(decode({.end = 360}).samples, 800 - 360);
  EXPECT_THAT(decode({.end = 360}).pts, ElementsAre(500, 520, 540));
  EXPECT_EQ(decode({.front = 320, .end = 160}).samples, 320);
  EXPECT_EQ(decode({.front = 1000}).samples, 0);
}

}  // namespace
}  // namespace gopmill
