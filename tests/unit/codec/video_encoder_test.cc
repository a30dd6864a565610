// SPDX-License-Identifier: Apache-2.0
#include "codec/video_encoder.h"

extern "C" {
#include <libavutil/cpu.h>
#include <libavutil/mastering_display_metadata.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
}

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <tuple>

#include "codec/encoder_info.h"
#include "codec/encoder_settings.h"
#include "codec/video_decoder.h"
#include "tests/unit/codec/test_frames.h"

namespace gopmill {
namespace {

using testing::EncodedUnit;
using testing::EncodeUnit;
using testing::EncodeWithParameters;
using testing::PacketHash;
using testing::Scene;
using testing::SpecFor;
using testing::TotalBits;

constexpr VideoCodec kAllCodecs[] = {VideoCodec::kH264, VideoCodec::kHevc, VideoCodec::kAv1,
                                     VideoCodec::kVp9, VideoCodec::kMpeg4};

// Decodes a unit on its own; the frames come out in display order.
std::vector<av::Frame> Decode(const EncodedUnit& unit, Rational time_base) {
  std::vector<av::Frame> frames;
  auto decoder = VideoDecoder::Open(*unit.parameters, time_base);
  EXPECT_TRUE(decoder.ok());
  if (!decoder.ok()) return frames;
  const auto take = [&] {
    for (;;) {
      av::Frame frame = av::NewFrame();
      auto got = (*decoder)->Receive(*frame);
      if (!got.ok() || !*got) return;
      frames.push_back(std::move(frame));
    }
  };
  for (const av::Packet& packet : unit.packets) {
    EXPECT_TRUE((*decoder)->Send(packet.get()).ok());
    take();
  }
  EXPECT_TRUE((*decoder)->Send(nullptr).ok());
  take();
  EXPECT_EQ((*decoder)->damaged(), 0);
  return frames;
}

// --- every codec and preset: what a unit must be ----------------------------------------------

class EncoderUnit : public ::testing::TestWithParam<std::tuple<VideoCodec, Preset>> {};

TEST_P(EncoderUnit, HasOnePacketPerFrameOneKeyAndAConstantDelay) {
  const auto [codec, preset] = GetParam();
  ASSERT_NE(FindEncoder(codec), nullptr) << "FFmpeg of Debian has it";
  const Scene scene{.cut_every = 11};
  EncoderSpec spec = SpecFor(codec, scene);
  spec.preset = preset;
  constexpr int kFirst = 1000;
  constexpr int kCount = 34;
  const EncodedUnit unit = EncodeWithParameters(spec, 300'000, scene, kFirst, kCount);

  ASSERT_EQ(unit.packets.size(), static_cast<std::size_t>(kCount));
  std::set<std::int64_t> pts;
  for (std::size_t i = 0; i < unit.packets.size(); ++i) {
    const AVPacket& packet = *unit.packets[i];
    EXPECT_EQ((packet.flags & AV_PKT_FLAG_KEY) != 0, i == 0) << "packet " << i;
    // The dts that the transcoder will write must not exceed the pts.
    EXPECT_GE(packet.pts, kFirst + static_cast<std::int64_t>(i) - unit.reorder_delay);
    pts.insert(packet.pts);
  }
  EXPECT_EQ(pts.size(), static_cast<std::size_t>(kCount));
  EXPECT_EQ(*pts.begin(), kFirst);
  EXPECT_EQ(*pts.rbegin(), kFirst + kCount - 1);
}

TEST_P(EncoderUnit, DecodesToAsManyFrames) {
  const auto [codec, preset] = GetParam();
  ASSERT_NE(FindEncoder(codec), nullptr) << "FFmpeg of Debian has it";
  const Scene scene{.cut_every = 9};
  EncoderSpec spec = SpecFor(codec, scene);
  spec.preset = preset;
  const EncodedUnit unit = EncodeWithParameters(spec, 300'000, scene, 0, 20);
  const auto frames = Decode(unit, spec.fps.Inverse());
  ASSERT_EQ(frames.size(), 20U);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(frames[i]->pts, static_cast<std::int64_t>(i));
  }
}

std::string CaseName(const ::testing::TestParamInfo<EncoderUnit::ParamType>& info) {
  return std::string(Name(std::get<0>(info.param))) + "_" +
         std::string(Name(std::get<1>(info.param)));
}

INSTANTIATE_TEST_SUITE_P(
    X264, EncoderUnit,
    ::testing::Combine(::testing::Values(VideoCodec::kH264),
                       ::testing::Values(Preset::kUltrafast, Preset::kSuperfast, Preset::kVeryfast,
                                         Preset::kFaster, Preset::kFast, Preset::kMedium,
                                         Preset::kSlow, Preset::kSlower, Preset::kVeryslow)),
    CaseName);
INSTANTIATE_TEST_SUITE_P(Others, EncoderUnit,
                         ::testing::Combine(::testing::Values(VideoCodec::kHevc, VideoCodec::kAv1,
                                                              VideoCodec::kVp9, VideoCodec::kMpeg4),
                                            ::testing::Values(Preset::kUltrafast, Preset::kVeryfast,
                                                              Preset::kMedium)),
                         CaseName);

// --- rate modes and short units ---------------------------------------------------------------

TEST(VideoEncoder, EveryRateModeWorksForEveryCodec) {
  const Scene scene;
  for (const VideoCodec codec : kAllCodecs) {
    for (const RateMode mode : {RateMode::kBitrate, RateMode::kCrf, RateMode::kQp}) {
      for (const std::int64_t maxrate : {0, 400'000}) {
        EncoderSpec spec = SpecFor(codec, scene);
        spec.rate_mode = mode;
        spec.crf = 28;
        spec.qp = 20;
        spec.maxrate = spec.bufsize = maxrate;
        if (mode == RateMode::kQp && maxrate > 0) continue;
        SCOPED_TRACE(std::string(Name(codec)) + " mode " + std::to_string(static_cast<int>(mode)) +
                     " maxrate " + std::to_string(maxrate));
        EXPECT_EQ(EncodeUnit(spec, 300'000, scene, 0, 8).size(), 8U);
      }
    }
  }
}

TEST(VideoEncoder, AUnitOfOneFrameWorksForEveryCodec) {
  const Scene scene;
  for (const VideoCodec codec : kAllCodecs) {
    SCOPED_TRACE(Name(codec));
    EXPECT_EQ(EncodeUnit(SpecFor(codec, scene), 300'000, scene, 7, 1).size(), 1U);
  }
}

TEST(VideoEncoder, ReordersAsItsPresetSays) {
  const Scene scene;
  const auto delay = [&](Preset preset, Profile profile) {
    EncoderSpec spec = SpecFor(VideoCodec::kH264, scene);
    spec.preset = preset;
    spec.profile = profile;
    auto encoder = VideoEncoder::Open(spec);
    EXPECT_TRUE(encoder.ok());
    return (*encoder)->reorder_delay();
  };
  EXPECT_EQ(delay(Preset::kUltrafast, Profile::kAuto), 0);
  EXPECT_EQ(delay(Preset::kVeryfast, Profile::kAuto), 2);
  EXPECT_EQ(delay(Preset::kMedium, Profile::kHigh), 2);
  EXPECT_EQ(delay(Preset::kMedium, Profile::kBaseline), 0);
}

TEST(VideoEncoder, MayBeGivenUpAtAnyTime) {
  const Scene scene;
  for (const VideoCodec codec : kAllCodecs) {
    for (const int frames : {0, 1, 5, 40}) {
      SCOPED_TRACE(std::string(Name(codec)) + " after " + std::to_string(frames) + " frames");
      auto encoder = VideoEncoder::Open(SpecFor(codec, scene));
      ASSERT_TRUE(encoder.ok());
      (*encoder)->SetBitrate(300'000, 50);
      av::Packet packet = av::NewPacket();
      for (int n = 0; n < frames; ++n) {
        ASSERT_TRUE((*encoder)->Send(testing::MakeFrame(scene, n).get()).ok());
        while (*(*encoder)->Receive(*packet)) av_packet_unref(packet.get());
      }
    }
  }
}

// --- the same bytes ---------------------------------------------------------------------------

TEST(VideoEncoder, YieldsTheSameBytesAgain) {
  const Scene scene{.cut_every = 13};
  for (const VideoCodec codec : kAllCodecs) {
    SCOPED_TRACE(Name(codec));
    const EncoderSpec spec = SpecFor(codec, scene);
    const auto first = PacketHash(EncodeUnit(spec, 250'000, scene, 40, 30));
    EXPECT_EQ(first, PacketHash(EncodeUnit(spec, 250'000, scene, 40, 30)));
  }
}

TEST(VideoEncoder, ReadingItsParametersFirstChangesNothing) {
  const Scene scene;
  for (const VideoCodec codec : kAllCodecs) {
    SCOPED_TRACE(Name(codec));
    const EncoderSpec spec = SpecFor(codec, scene);
    auto encoder = VideoEncoder::Open(spec);
    ASSERT_TRUE(encoder.ok());
    const std::uint64_t before = ParameterSetHash((*encoder)->context());
    (*encoder)->SetBitrate(250'000, 20);
    const auto packets = testing::Encode(**encoder, scene, 0, 20);
    EXPECT_EQ(before, ParameterSetHash((*encoder)->context()));

    auto fresh = VideoEncoder::Open(spec);
    ASSERT_TRUE(fresh.ok());
    (*fresh)->SetBitrate(250'000, 20);
    EXPECT_EQ(PacketHash(packets), PacketHash(testing::Encode(**fresh, scene, 0, 20)));
  }
}

TEST(VideoEncoder, SourcePictureTypesAreNoOrders) {
  const Scene scene;
  auto encoder = VideoEncoder::Open(SpecFor(VideoCodec::kH264, scene));
  ASSERT_TRUE(encoder.ok());
  int keys = 0;
  const auto take = [&] {
    av::Packet packet = av::NewPacket();
    while (*(*encoder)->Receive(*packet)) {
      keys += packet->flags & AV_PKT_FLAG_KEY;
      av_packet_unref(packet.get());
    }
  };
  for (int n = 0; n < 10; ++n) {
    av::Frame frame = testing::MakeFrame(scene, n);
    frame->pict_type = AV_PICTURE_TYPE_I;
    ASSERT_TRUE((*encoder)->Send(frame.get()).ok());
    take();
  }
  ASSERT_TRUE((*encoder)->Send(nullptr).ok());
  take();
  EXPECT_EQ(keys, 1);
}

// Encodes with the encoder's own vector code limited by `limit` ("asm=0"; empty = all of it).
std::vector<av::Packet> EncodeLimited(const EncoderSpec& spec, const std::string& limit) {
  const AVCodec* codec = FindEncoder(spec.codec);
  av::CodecContext context(avcodec_alloc_context3(codec));
  EXPECT_TRUE(ApplySettings(spec, {.bps = 300'000, .frames = 25}, *context).ok());
  for (const char* key : {"x264-params", "x265-params", "svtav1-params"}) {
    AVDictionary* params = nullptr;
    if (limit.empty() || av_opt_get_dict_val(context->priv_data, key, 0, &params) < 0) continue;
    av_dict_parse_string(&params, limit.c_str(), "=", ":", 0);
    av_opt_set_dict_val(context->priv_data, key, params, 0);
    av_dict_free(&params);
  }
  std::vector<av::Packet> packets;
  EXPECT_GE(avcodec_open2(context.get(), codec, nullptr), 0);
  const auto take = [&] {
    av::Packet packet = av::NewPacket();
    while (avcodec_receive_packet(context.get(), packet.get()) >= 0) {
      StripEncoderInfo(*packet);  // it names the options
      packets.push_back(std::move(packet));
      packet = av::NewPacket();
    }
  };
  const Scene scene{.width = spec.width, .height = spec.height, .cut_every = 13};
  for (int n = 0; n < 25; ++n) {
    av::Frame frame = testing::MakeFrame(scene, n);
    frame->quality = context->global_quality;
    EXPECT_GE(avcodec_send_frame(context.get(), frame.get()), 0);
    take();
  }
  avcodec_send_frame(context.get(), nullptr);
  take();
  return packets;
}

TEST(VideoEncoder, ClaimsCpuIndependenceOnlyWhereItHolds) {
  const int normal = av_get_cpu_flags();
  constexpr int kSse2 = AV_CPU_FLAG_MMX | AV_CPU_FLAG_MMXEXT | AV_CPU_FLAG_SSE | AV_CPU_FLAG_SSE2;
  for (const VideoCodec codec : kAllCodecs) {
    if (!CpuIndependent(codec)) continue;
    const std::string old_cpu = codec == VideoCodec::kAv1 ? "asm=2" : "asm=SSE2";
    for (const Preset preset : {Preset::kUltrafast, Preset::kVeryfast, Preset::kMedium}) {
      SCOPED_TRACE(std::string(Name(codec)) + " " + std::string(Name(preset)));
      EncoderSpec spec = SpecFor(codec, {.width = 176, .height = 144});
      spec.preset = preset;
      const auto usual = PacketHash(EncodeLimited(spec, ""));
      av_force_cpu_flags(kSse2);
      EXPECT_EQ(usual, PacketHash(EncodeLimited(spec, old_cpu)));
      av_force_cpu_flags(0);
      EXPECT_EQ(usual, PacketHash(EncodeLimited(spec, "asm=0")));
      av_force_cpu_flags(normal);
    }
  }
}

// --- parameter sets ---------------------------------------------------------------------------

TEST(VideoEncoder, ParameterSetsDoNotDependOnTheRateOfTheUnit) {
  const Scene scene;
  for (const VideoCodec codec : kAllCodecs) {
    for (const std::int64_t maxrate : {0, 3'000'000}) {
      SCOPED_TRACE(std::string(Name(codec)) + " maxrate " + std::to_string(maxrate));
      EncoderSpec spec = SpecFor(codec, scene);
      spec.maxrate = spec.bufsize = maxrate;
      std::set<std::uint64_t> hashes;
      for (const std::int64_t bps : {20'000, 300'000, 2'900'000, 9'000'000}) {
        auto encoder = VideoEncoder::Open(spec);
        ASSERT_TRUE(encoder.ok());
        (*encoder)->SetBitrate(bps, 50);
        hashes.insert(ParameterSetHash((*encoder)->context()));
        const bool in_packets = codec == VideoCodec::kVp9;
        EXPECT_EQ((*encoder)->context().extradata_size > 0, !in_packets);
      }
      EXPECT_EQ(hashes.size(), 1U);
    }
  }
}

void ExpectSameParameterSets(const EncoderSpec& a, const EncoderSpec& b) {
  const auto left = VideoEncoder::Open(a);
  const auto right = VideoEncoder::Open(b);
  ASSERT_TRUE(left.ok() && right.ok());
  EXPECT_EQ(ParameterSetHash((*left)->context()), ParameterSetHash((*right)->context()));
  EXPECT_EQ((*left)->reorder_delay(), (*right)->reorder_delay());
}

TEST(VideoEncoder, ParameterSetsDoNotDependOnTheEffort) {
  const Scene scene;
  for (const VideoCodec codec : kAllCodecs) {
    for (int preset = 0; preset <= static_cast<int>(Preset::kVeryslow); ++preset) {
      for (const Profile profile : {Profile::kAuto, Profile::kBaseline, Profile::kMain}) {
        if (profile != Profile::kAuto && codec != VideoCodec::kH264) continue;
        SCOPED_TRACE(std::string(Name(codec)) + " preset " + std::to_string(preset));
        EncoderSpec spec = SpecFor(codec, scene);
        spec.preset = static_cast<Preset>(preset);
        spec.profile = profile;
        ExpectSameParameterSets(spec, WithLessSearch(spec));
        if (codec != VideoCodec::kH264) continue;
        spec.low_delay = true;
        for (const bool reorders : {true, false}) {
          spec.reorders = reorders;
          ExpectSameParameterSets(spec, WithLessSearch(spec));
        }
      }
    }
  }
}

TEST(VideoEncoder, LowDelayReordersNothingWhereItIsAskedNotToOrTheProfileForbidsIt) {
  const Scene scene;
  EncoderSpec spec = SpecFor(VideoCodec::kH264, scene);
  spec.low_delay = true;
  const auto delay = [](const EncoderSpec& each) {
    const auto encoder = VideoEncoder::Open(each);
    EXPECT_TRUE(encoder.ok());
    return (*encoder)->reorder_delay();
  };
  EXPECT_EQ(delay(spec), 1) << "two B frames, neither of which is a reference";
  EncoderSpec plain = spec;
  plain.reorders = false;
  EXPECT_EQ(delay(plain), 0);
  EncoderSpec baseline = spec;
  baseline.profile = Profile::kBaseline;
  const auto encoder = VideoEncoder::Open(baseline);
  ASSERT_TRUE(encoder.ok());
  EXPECT_EQ((*encoder)->reorder_delay(), 0);
  // Behind a start code of four bytes and the head of the parameter set.
  ASSERT_GT((*encoder)->context().extradata_size, 5);
  EXPECT_EQ((*encoder)->context().extradata[5], FF_PROFILE_H264_BASELINE);
}

// A frame leaves when two more have come, or at once.
TEST(VideoEncoder, LowDelayHoldsTwoFramesAtMost) {
  const Scene scene;
  for (const bool reorders : {true, false}) {
    EncoderSpec spec = SpecFor(VideoCodec::kH264, scene);
    spec.low_delay = true;
    spec.reorders = reorders;
    auto encoder = VideoEncoder::Open(spec);
    ASSERT_TRUE(encoder.ok());
    (*encoder)->SetBitrate(200'000, 30);
    int packets = 0;
    for (int n = 0; n < 30; ++n) {
      const av::Frame frame = MakeFrame(scene, n);
      ASSERT_TRUE((*encoder)->Send(frame.get()).ok());
      const av::Packet packet = av::NewPacket();
      while ((*encoder)->Receive(*packet).value()) {
        ++packets;
        av_packet_unref(packet.get());
      }
      EXPECT_GE(packets, n + 1 - (reorders ? 2 : 0)) << n;
    }
  }
}

TEST(VideoEncoder, WithoutGlobalHeaderTheParametersAreInTheFirstPacket) {
  const Scene scene;
  for (const VideoCodec codec : {VideoCodec::kH264, VideoCodec::kHevc, VideoCodec::kMpeg4}) {
    SCOPED_TRACE(Name(codec));
    EncoderSpec spec = SpecFor(codec, scene);
    spec.global_header = false;
    EncodedUnit unit = EncodeWithParameters(spec, 300'000, scene, 0, 6);
    av_freep(static_cast<void*>(&unit.parameters->extradata));
    unit.parameters->extradata_size = 0;
    EXPECT_EQ(Decode(unit, spec.fps.Inverse()).size(), 6U);
  }
}

// --- properties -------------------------------------------------------------------------------

TEST(VideoEncoder, CarriesColourAspectAndDepth) {
  const Scene scene{.format = AV_PIX_FMT_YUV420P10};
  for (const VideoCodec codec : {VideoCodec::kHevc, VideoCodec::kAv1, VideoCodec::kH264}) {
    SCOPED_TRACE(Name(codec));
    EncoderSpec spec = SpecFor(codec, scene);
    if (codec == VideoCodec::kH264) spec.profile = Profile::kHigh10;
    spec.color_primaries = AVCOL_PRI_BT2020;
    spec.color_trc = AVCOL_TRC_SMPTE2084;
    spec.color_space = AVCOL_SPC_BT2020_NCL;
    spec.color_range = AVCOL_RANGE_MPEG;
    const auto frames = Decode(EncodeWithParameters(spec, 300'000, scene, 0, 4), {1, 25});
    ASSERT_EQ(frames.size(), 4U);
    const AVFrame& frame = *frames.front();
    EXPECT_EQ(frame.format, AV_PIX_FMT_YUV420P10);
    EXPECT_EQ(frame.color_primaries, AVCOL_PRI_BT2020);
    EXPECT_EQ(frame.color_trc, AVCOL_TRC_SMPTE2084);
    EXPECT_EQ(frame.colorspace, AVCOL_SPC_BT2020_NCL);
    EXPECT_EQ(frame.color_range, AVCOL_RANGE_MPEG);
  }
}

template <class T>
std::vector<std::uint8_t> Bytes(const T& value) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(&value);
  return {begin, begin + sizeof value};
}

TEST(VideoEncoder, CarriesHdr10Metadata) {
  AVMasteringDisplayMetadata display{};
  const int xy[4][2] = {{34000, 16000}, {13250, 34500}, {7500, 3000}, {15635, 16450}};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 2; ++j) display.display_primaries[i][j] = {xy[i][j], 50'000};
  }
  display.white_point[0] = {xy[3][0], 50'000};
  display.white_point[1] = {xy[3][1], 50'000};
  display.max_luminance = {1000, 1};
  display.min_luminance = {1, 10'000};
  display.has_primaries = display.has_luminance = 1;
  const AVContentLightMetadata light{.MaxCLL = 1000, .MaxFALL = 400};

  const Scene scene{.format = AV_PIX_FMT_YUV420P10};
  // (H.264 carries it too, but libavcodec 5.1 does not read it back.)
  for (const VideoCodec codec : {VideoCodec::kHevc, VideoCodec::kAv1}) {
    SCOPED_TRACE(Name(codec));
    EncoderSpec spec = SpecFor(codec, scene);
    spec.mastering_display = Bytes(display);
    spec.content_light = Bytes(light);
    const auto frames = Decode(EncodeWithParameters(spec, 300'000, scene, 0, 4), {1, 25});
    ASSERT_FALSE(frames.empty());
    const AVFrameSideData* found =
        av_frame_get_side_data(frames.front().get(), AV_FRAME_DATA_CONTENT_LIGHT_LEVEL);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(reinterpret_cast<const AVContentLightMetadata*>(found->data)->MaxFALL, 400U);
    found = av_frame_get_side_data(frames.front().get(), AV_FRAME_DATA_MASTERING_DISPLAY_METADATA);
    ASSERT_NE(found, nullptr);
    const auto* back = reinterpret_cast<const AVMasteringDisplayMetadata*>(found->data);
    EXPECT_NEAR(av_q2d(back->display_primaries[1][1]), 0.69, 0.001);
    EXPECT_NEAR(av_q2d(back->display_primaries[0][0]), 0.68, 0.001);
    EXPECT_NEAR(av_q2d(back->max_luminance), 1000, 1);
  }
}

// --- bit rate ---------------------------------------------------------------------------------

// Mean bit rate of a clip in 2 s units, as a share of what was asked for.
double RateShare(VideoCodec codec, Preset preset, const Scene& scene, std::int64_t bps) {
  EncoderSpec spec = SpecFor(codec, scene);
  spec.preset = preset;
  spec.nominal_bps = bps;
  std::int64_t bits = 0;
  constexpr int kUnits = 5;
  constexpr int kFrames = 50;
  for (int unit = 0; unit < kUnits; ++unit) {
    bits += TotalBits(EncodeUnit(spec, bps, scene, unit * kFrames, kFrames));
  }
  return static_cast<double>(bits) / (static_cast<double>(bps) * kUnits * kFrames / 25);
}

TEST(VideoEncoder, MeetsTheBitRateOverShortUnits) {
  const Scene scene{.width = 176, .height = 144, .noise = 2, .cut_every = 60};
  for (const std::int64_t bps : {200'000, 400'000}) {
    SCOPED_TRACE(bps);
    EXPECT_NEAR(RateShare(VideoCodec::kH264, Preset::kVeryfast, scene, bps), 1, 0.10);
    EXPECT_NEAR(RateShare(VideoCodec::kH264, Preset::kUltrafast, scene, bps), 1, 0.10);
    EXPECT_NEAR(RateShare(VideoCodec::kMpeg4, Preset::kVeryfast, scene, bps), 1, 0.05);
  }
}

}  // namespace
}  // namespace gopmill
