// SPDX-License-Identifier: Apache-2.0
#include "codec/video_encoder.h"

extern "C" {
#include <libavutil/cpu.h>
#include <libavutil/opt.h>
}

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <tuple>

#include "codec/encoder_info.h"
#include "codec/encoder_settings.h"
#include "tests/sanitized.h"
#include "tests/unit/codec/test_frames.h"

namespace gopmill {
namespace {

using testing::DecodeUnit;
using testing::EncodedUnit;
using testing::EncodeUnit;
using testing::EncodeWithParameters;
using testing::kAllCodecs;
using testing::PacketHash;
using testing::Scene;
using testing::SetBitrate;
using testing::SpecFor;
using testing::TotalBits;

// Of this process, in bytes.
rlim_t AddressSpace() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

// SVT-AV1 and x265 wait for threads that they could not start, for ever. A stack is of 8 MiB.
TEST(VideoEncoder, DoesNotOpenALibraryThatLacksThreads) {
  if (GOPMILL_SANITIZED) GTEST_SKIP() << "the sanitizer needs the address space";
  for (const VideoCodec codec : {VideoCodec::kHevc, VideoCodec::kAv1}) {
    const EncoderSpec spec = SpecFor(codec, {});
    const auto encoder = VideoEncoder::Open(spec);
    ASSERT_TRUE(encoder.ok());
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
    const rlimit tight{.rlim_cur = AddressSpace() + (4U << 20U), .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_AS, &tight), 0);
    SetBitrate(**encoder, 300'000);
    const Status opened = (*encoder)->opened();
    setrlimit(RLIMIT_AS, &before);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, Code::kUnavailable) << opened.error().ToString();
    SetBitrate(**encoder, 300'000);
    EXPECT_TRUE((*encoder)->opened().ok());
  }
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
  const auto frames = DecodeUnit(unit, spec.fps.Inverse());
  ASSERT_EQ(frames.size(), 20U);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(frames[i]->pts, static_cast<std::int64_t>(i));
  }
}

// What comes out sooner would be judged while nothing is kept of it (UnitMember).
TEST_P(EncoderUnit, HoldsBackTheFramesThatItIsSaidTo) {
  const auto [codec, preset] = GetParam();
  const Scene scene;
  EncoderSpec spec = SpecFor(codec, scene);
  spec.preset = preset;
  for (const std::int64_t count : {20, 60, 120}) {
    auto encoder = VideoEncoder::Open(spec, count);
    ASSERT_TRUE(encoder.ok());
    SetBitrate(**encoder, 300'000, count);
    av::Packet packet = av::NewPacket();
    int sent = 0;
    do {
      ASSERT_TRUE((*encoder)->Send(testing::MakeFrame(scene, sent).get()).ok());
      ++sent;
    } while (sent < count && !*(*encoder)->Receive(*packet));
    EXPECT_GT(sent, FramesAhead(spec, count)) << count;
    EXPECT_GE(FramesAhead(spec, count), SteeredByCrf(spec) ? 3 : 0) << count;
  }
}

// What x264 holds of 1080p is most of what a unit takes.
TEST(UnitLookaheadTest, IsAnEighthOfLargePicturesUnitsAndASixthOfOthers) {
  EncoderSpec spec = {};
  spec.rate_mode = RateMode::kBitrate;
  const auto of = [&spec](int width, int height, std::int64_t frames) {
    spec.width = width;
    spec.height = height;
    return UnitLookahead(spec, frames);
  };
  EXPECT_EQ(of(1600, 900, 48), 8);
  EXPECT_EQ(of(1920, 1080, 48), 6);
  EXPECT_EQ(of(1080, 1920, 48), 6);
  EXPECT_EQ(of(1440, 1080, 72), 9);
  EXPECT_EQ(of(1920, 1080, 12), 3);
  EXPECT_EQ(of(1920, 1080, 600), kPresetLookahead);
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
      SetBitrate(**encoder, 300'000, 50);
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

std::uint64_t ParameterSets(const EncoderSpec& spec) {
  auto encoder = VideoEncoder::Open(spec);
  return encoder.ok() ? ParameterSetHash((*encoder)->context()) : 0;
}

// Its threads overtake each other differently each time: the passes run two at a time.
TEST(VideoEncoder, WithThreadsItYieldsTheSameBytesAgainAndTheSameParameterSets) {
  const Scene scene{.width = 640, .height = 368, .noise = 20, .cut_every = 13};
  EncoderSpec spec = SpecFor(VideoCodec::kH264, scene);
  spec.maxrate = 1'200'000;
  spec.bufsize = 2'400'000;
  spec.threads = 3;
  const auto encode = [&] { return EncodeWithParameters(spec, 900'000, scene, 0, 50); };
  const EncodedUnit first = encode();
  EXPECT_EQ(first.packets.size(), 50U);
  for (int i = 0; i < 4; ++i) {
    std::uint64_t other = 0;
    std::thread beside([&] { other = PacketHash(encode().packets); });
    EXPECT_EQ(PacketHash(encode().packets), PacketHash(first.packets));
    beside.join();
    EXPECT_EQ(other, PacketHash(first.packets));
  }
  const EncodedUnit alone = EncodeWithParameters(WithOneThread(spec), 900'000, scene, 0, 50);
  EXPECT_NE(PacketHash(alone.packets), PacketHash(first.packets));
  EXPECT_EQ(ParameterSets(WithOneThread(spec)), ParameterSets(spec));
  EXPECT_EQ(DecodeUnit(first, {1, 25}).size(), 50U);
}

TEST(VideoEncoder, ThreadsAreForLargePicturesWhoseRateIsSteered) {
  EncoderSpec spec = SpecFor(VideoCodec::kH264, {.width = 1280, .height = 720});
  EXPECT_GT(ThreadsWorthwhile(spec), 1);
  EXPECT_EQ(ThreadsWorthwhile(SpecFor(VideoCodec::kH264, {.width = 320, .height = 240})), 1);
  EXPECT_EQ(ThreadsWorthwhile(SpecFor(VideoCodec::kHevc, {.width = 1280, .height = 720})), 1);
  spec.quality = Quality::kBest;
  EXPECT_EQ(ThreadsWorthwhile(spec), 1);
  spec.quality = Quality::kNormal;
  spec.rate_mode = RateMode::kCrf;
  EXPECT_EQ(ThreadsWorthwhile(spec), 1);
}

TEST(VideoEncoder, ReadingItsParametersFirstChangesNothing) {
  const Scene scene;
  for (const VideoCodec codec : kAllCodecs) {
    SCOPED_TRACE(Name(codec));
    const EncoderSpec spec = SpecFor(codec, scene);
    auto encoder = VideoEncoder::Open(spec);
    ASSERT_TRUE(encoder.ok());
    const std::uint64_t before = ParameterSetHash((*encoder)->context());
    SetBitrate(**encoder, 250'000, 20);
    const auto packets = testing::Encode(**encoder, scene, 0, 20);
    EXPECT_EQ(before, ParameterSetHash((*encoder)->context()));

    auto fresh = VideoEncoder::Open(spec);
    ASSERT_TRUE(fresh.ok());
    SetBitrate(**fresh, 250'000, 20);
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
    const auto packets = EncodeUnit(spec, bps, scene, unit * kFrames, kFrames);
    bits += TotalBits(packets) - 8 * EncoderInfoBytes(*packets.front());
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
