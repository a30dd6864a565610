// SPDX-License-Identifier: Apache-2.0
#include "codec/video_decoder.h"

extern "C" {
#include <libavutil/cpu.h>
}

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <random>
#include <vector>

#include "media/decoder_table.h"
#include "tests/unit/codec/test_frames.h"

namespace gopmill {
namespace {

using testing::EncodedUnit;
using testing::Scene;

EncodedUnit Sample(VideoCodec codec, Preset preset = Preset::kMedium) {
  const Scene scene{.width = 176, .height = 144, .cut_every = 17};
  EncoderSpec spec = testing::SpecFor(codec, scene);
  spec.preset = preset;
  return testing::EncodeWithParameters(spec, 300'000, scene, 0, 40);
}

std::unique_ptr<VideoDecoder> OpenFor(const AVCodecParameters& parameters) {
  auto decoder = VideoDecoder::Open(parameters, {1, 25});
  EXPECT_TRUE(decoder.ok()) << decoder.error().ToString();
  return std::move(decoder).value();
}

// Feeds packets first .. end - 1 and the end; returns the frames.
std::vector<av::Frame> DecodeRun(VideoDecoder& decoder, const EncodedUnit& unit, std::size_t end) {
  std::vector<av::Frame> frames;
  const auto take = [&] {
    av::Frame frame = av::NewFrame();
    while (*decoder.Receive(*frame)) {
      frames.push_back(std::move(frame));
      frame = av::NewFrame();
    }
  };
  for (std::size_t i = 0; i < end; ++i) {
    EXPECT_TRUE(decoder.Send(unit.packets[i].get()).ok());
    take();
  }
  EXPECT_TRUE(decoder.Send(nullptr).ok());
  take();
  return frames;
}

TEST(VideoDecoder, RefusesOthersWithAnErrorForClients) {
  av::CodecParameters parameters(avcodec_parameters_alloc());
  parameters->codec_type = AVMEDIA_TYPE_VIDEO;
  parameters->codec_id = AV_CODEC_ID_GIF;
  const auto decoder = VideoDecoder::Open(*parameters, {1, 25});
  ASSERT_FALSE(decoder.ok());
  EXPECT_EQ(decoder.error().code, Code::kUnsupported);
  EXPECT_NE(decoder.error().message.find("gif"), std::string::npos);
}

// Up to build 150 it coded 4:4:4 in a way of its own. The second packet does not tell the build.
TEST(VideoDecoder, DecodesAsTheBuildOfX264WasThatItIsTold) {
  EncodedUnit unit = testing::Encode444(2);
  ASSERT_EQ(unit.packets.size(), 2U);
  unit.packets.erase(unit.packets.begin());
  const auto decode = [&](int build) {
    auto decoder = VideoDecoder::Open(*unit.parameters, {1, 25}, build).value();
    auto frames = DecodeRun(*decoder, unit, 1);
    EXPECT_EQ(frames.size(), 1U);
    const AVFrame& frame = *frames.at(0);
    const auto bytes = static_cast<std::size_t>(frame.linesize[0] * frame.height);
    return std::string(reinterpret_cast<const char*>(frame.data[0]), bytes);
  };
  EXPECT_TRUE(decode(-1) == decode(164));
  EXPECT_FALSE(decode(-1) == decode(142));
}

TEST(VideoDecoder, YieldsTheSameFramesWarmAsCold) {
  for (const VideoCodec codec : {VideoCodec::kH264, VideoCodec::kHevc, VideoCodec::kAv1,
                                 VideoCodec::kVp9, VideoCodec::kMpeg4}) {
    SCOPED_TRACE(Name(codec));
    const EncodedUnit unit = Sample(codec);
    const auto decoder = OpenFor(*unit.parameters);
    const auto cold = DecodeRun(*decoder, unit, 40);
    ASSERT_EQ(cold.size(), 40U);
    for (const std::size_t end : {3U, 40U}) {  // a run that is cut off must leave no trace either
      decoder->Flush();
      DecodeRun(*decoder, unit, end);
    }
    decoder->Flush();
    const auto warm = DecodeRun(*decoder, unit, 40);
    ASSERT_EQ(warm.size(), cold.size());
    EXPECT_EQ(testing::PixelHash(warm), testing::PixelHash(cold));
    for (std::size_t i = 0; i < warm.size(); ++i) EXPECT_EQ(warm[i]->pts, cold[i]->pts);
    EXPECT_EQ(decoder->damaged(), 0);
  }
}

TEST(VideoDecoder, YieldsTheSameFramesOnEveryCpu) {
  const int normal = av_get_cpu_flags();
  for (const VideoCodec codec : {VideoCodec::kH264, VideoCodec::kHevc, VideoCodec::kVp9}) {
    SCOPED_TRACE(Name(codec));
    const EncodedUnit unit = Sample(codec);
    const auto usual = testing::PixelHash(DecodeRun(*OpenFor(*unit.parameters), unit, 40));
    av_force_cpu_flags(0);
    EXPECT_EQ(usual, testing::PixelHash(DecodeRun(*OpenFor(*unit.parameters), unit, 40)));
    av_force_cpu_flags(normal);
  }
}

TEST(VideoDecoder, CountsDamageAndGoesOn) {
  const EncodedUnit unit = Sample(VideoCodec::kH264);
  std::minstd_rand random(5);
  for (std::size_t i = 10; i < 20; ++i) {
    AVPacket& packet = *unit.packets[i];
    ASSERT_GE(av_packet_make_writable(&packet), 0);
    for (int k = 0; k < packet.size; ++k) packet.data[k] = static_cast<std::uint8_t>(random());
  }
  const auto decoder = OpenFor(*unit.parameters);
  const auto frames = DecodeRun(*decoder, unit, 40);
  EXPECT_GE(frames.size(), 20U);
  EXPECT_GT(decoder->damaged(), 0);
}

// Pictures by FFmpeg's own encoder of the codec.
EncodedUnit SampleBy(AVCodecID id, AVPixelFormat format) {
  const Scene scene{.width = 176, .height = 144, .format = format, .cut_every = 5};
  const AVCodec* codec = avcodec_find_encoder(id);
  const av::CodecContext encoder(avcodec_alloc_context3(codec));
  encoder->width = scene.width;
  encoder->height = scene.height;
  encoder->pix_fmt = format;
  encoder->time_base = {1, 25};
  EXPECT_GE(avcodec_open2(encoder.get(), codec, nullptr), 0);
  EncodedUnit unit;
  for (int n = 0; n < 30; ++n) {
    EXPECT_GE(avcodec_send_frame(encoder.get(), testing::MakeFrame(scene, n).get()), 0);
    av::Packet packet = av::NewPacket();
    EXPECT_GE(avcodec_receive_packet(encoder.get(), packet.get()), 0);
    unit.packets.push_back(std::move(packet));
  }
  unit.parameters.reset(avcodec_parameters_alloc());
  EXPECT_GE(avcodec_parameters_from_context(unit.parameters.get(), encoder.get()), 0);
  return unit;
}

// Cuts the packets from number `first` on off behind three fifths of each.
EncodedUnit CutOff(EncodedUnit unit, std::size_t first) {
  for (std::size_t i = first; i < unit.packets.size(); ++i) {
    av_shrink_packet(unit.packets[i].get(), unit.packets[i]->size * 3 / 5);
  }
  return unit;
}

// Spoils the packets from number `first` on behind three fifths of each.
EncodedUnit Spoilt(EncodedUnit unit, std::size_t first) {
  for (std::size_t i = first; i < unit.packets.size(); ++i) {
    AVPacket& packet = *unit.packets[i];
    EXPECT_GE(av_packet_make_writable(&packet), 0);
    std::fill(packet.data + packet.size * 3 / 5, packet.data + packet.size, std::uint8_t{0});
  }
  return unit;
}

// Of each picture as it comes, while the last so many are still held.
std::vector<std::uint64_t> HashesWhileHeld(const EncodedUnit& unit, std::size_t count) {
  const auto decoder = OpenFor(*unit.parameters);
  std::vector<std::uint64_t> hashes;
  std::deque<av::Frame> held;
  for (std::size_t i = 0; i <= unit.packets.size(); ++i) {
    EXPECT_TRUE(decoder->Send(i < unit.packets.size() ? unit.packets[i].get() : nullptr).ok());
    for (av::Frame frame = av::NewFrame(); *decoder->Receive(*frame); frame = av::NewFrame()) {
      hashes.push_back(testing::PixelHash(*frame));
      held.push_back(std::move(frame));
      if (held.size() > count) held.pop_front();
    }
  }
  return hashes;
}

// FFmpeg hands out buffers of earlier pictures as they are, which ones depends on what is held.
TEST(VideoDecoder, ShowsNoEarlierPictureWhereOneIsDamaged) {
  std::vector<EncodedUnit> units;
  units.push_back(Spoilt(Sample(VideoCodec::kHevc), 4));
  units.push_back(Spoilt(SampleBy(AV_CODEC_ID_MJPEG, AV_PIX_FMT_YUVJ420P), 1));
  units.push_back(Spoilt(SampleBy(AV_CODEC_ID_PRORES, AV_PIX_FMT_YUV422P10), 1));
  units.push_back(Spoilt(SampleBy(AV_CODEC_ID_FFV1, AV_PIX_FMT_YUV420P), 1));
  units.push_back(CutOff(SampleBy(AV_CODEC_ID_VP8, AV_PIX_FMT_YUV420P), 1));
  for (const EncodedUnit& unit : units) {
    SCOPED_TRACE(avcodec_get_name(unit.parameters->codec_id));
    const auto hashes = HashesWhileHeld(unit, 0);
    EXPECT_GT(hashes.size(), 10U);
    EXPECT_EQ(HashesWhileHeld(unit, 3), hashes);
    EXPECT_EQ(HashesWhileHeld(unit, 9), hashes);
  }
}

TEST(VideoDecoder, FillsWhatIsMissingWithSamplesOfTheirDepth) {
  const EncodedUnit unit = Spoilt(SampleBy(AV_CODEC_ID_PRORES, AV_PIX_FMT_YUV422P10), 0);
  for (const av::Frame& frame : DecodeRun(*OpenFor(*unit.parameters), unit, unit.packets.size())) {
    for (int y = 0; y < frame->height; ++y) {
      const auto* row =
          reinterpret_cast<const std::uint16_t*>(frame->data[0] + y * frame->linesize[0]);
      EXPECT_LT(*std::max_element(row, row + frame->width), 1024) << "row " << y;
    }
  }
}

std::vector<AVCodecID> AllowedCodecs() {
  std::vector<AVCodecID> ids;
  for (const AVCodecDescriptor* at = nullptr; (at = avcodec_descriptor_next(at)) != nullptr;) {
    if (SourceCodecAllowed(TrackKind::kVideo, at->name)) ids.push_back(at->id);
  }
  return ids;
}

// Of 64x48 pictures; with the header that the codec's own encoder writes, where no decoder opens
// without one.
av::CodecParameters ParametersFor(AVCodecID id) {
  av::CodecParameters parameters(avcodec_parameters_alloc());
  parameters->codec_type = AVMEDIA_TYPE_VIDEO;
  parameters->codec_id = id;
  parameters->width = 64;
  parameters->height = 48;
  parameters->format = AV_PIX_FMT_YUV420P;
  constexpr std::array kWithHeader{AV_CODEC_ID_THEORA, AV_CODEC_ID_HUFFYUV, AV_CODEC_ID_FFVHUFF,
                                   AV_CODEC_ID_UTVIDEO};
  if (std::ranges::find(kWithHeader, id) == kWithHeader.end()) return parameters;
  const AVCodec* codec = avcodec_find_encoder(id);
  parameters->format = codec->pix_fmts[0];
  const av::CodecContext encoder(avcodec_alloc_context3(codec));
  EXPECT_GE(avcodec_parameters_to_context(encoder.get(), parameters.get()), 0);
  encoder->time_base = {1, 25};
  EXPECT_GE(avcodec_open2(encoder.get(), codec, nullptr), 0);
  EXPECT_GE(avcodec_parameters_from_context(parameters.get(), encoder.get()), 0);
  return parameters;
}

void FeedGarbage(VideoDecoder& decoder) {
  std::minstd_rand random(7);
  const av::Frame frame = av::NewFrame();
  for (int round = 0; round < 50; ++round) {
    const av::Packet packet = av::NewPacket();
    ASSERT_GE(av_new_packet(packet.get(), static_cast<int>(random() % 3000)), 0);
    for (int i = 0; i < packet->size; ++i) packet->data[i] = static_cast<std::uint8_t>(random());
    EXPECT_TRUE(decoder.Send(packet.get()).ok());
    for (;;) {
      const auto got = decoder.Receive(*frame);
      EXPECT_TRUE(got.ok());
      if (!got.ok() || !*got) break;
    }
  }
  EXPECT_TRUE(decoder.Send(nullptr).ok());
  while (*decoder.Receive(*frame)) av_frame_unref(frame.get());
}

TEST(VideoDecoder, SurvivesGarbageForEveryAllowedCodec) {
  const std::vector<AVCodecID> codecs = AllowedCodecs();
  EXPECT_GE(codecs.size(), 19U);
  for (const AVCodecID id : codecs) {
    SCOPED_TRACE(avcodec_get_name(id));
    const auto decoder = VideoDecoder::Open(*ParametersFor(id), {1, 25});
    EXPECT_TRUE(decoder.ok()) << decoder.error().ToString();
    if (!decoder.ok()) continue;
    FeedGarbage(**decoder);
    // To these, what has no start code is nothing at all.
    const bool skips = id == AV_CODEC_ID_MPEG1VIDEO || id == AV_CODEC_ID_MPEG2VIDEO;
    EXPECT_EQ((*decoder)->damaged() > 0, !skips);
    (*decoder)->Flush();
    EXPECT_EQ((*decoder)->damaged(), 0);
  }
}

}  // namespace
}  // namespace gopmill
