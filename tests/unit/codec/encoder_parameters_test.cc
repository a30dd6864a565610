// SPDX-License-Identifier: Apache-2.0
//
// What an encoder writes of itself and of its pictures, and how many of them it holds.
extern "C" {
#include <libavutil/mastering_display_metadata.h>
#include <libavutil/mem.h>
}

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codec/codec_level.h"
#include "codec/encoder_info.h"
#include "codec/video_encoder.h"
#include "tests/unit/codec/test_frames.h"

namespace gopmill {
namespace {

using testing::DecodeUnit;
using testing::EncodedUnit;
using testing::EncodeWithParameters;
using testing::kAllCodecs;
using testing::Scene;
using testing::SetBitrate;
using testing::SpecFor;

// --- parameter sets ---------------------------------------------------------------------------

TEST(EncoderParameters, ParameterSetsDoNotDependOnTheRateOfTheUnit) {
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
        SetBitrate(**encoder, bps, 50);
        hashes.insert(ParameterSetHash((*encoder)->context()));
        const bool in_packets = codec == VideoCodec::kVp9;
        EXPECT_EQ((*encoder)->context().extradata_size > 0, !in_packets);
      }
      EXPECT_EQ(hashes.size(), 1U);
    }
  }
}

// x265 would choose the tier by the rate and length of each unit.
TEST(EncoderParameters, LargeHevcPicturesAreOfTheMainTierWhateverTheRateOfTheUnit) {
  EncoderSpec spec = SpecFor(VideoCodec::kHevc, Scene());
  spec.width = 1920;
  spec.height = 1080;
  spec.fps = {30, 1};
  spec.preset = Preset::kUltrafast;
  spec.nominal_bps = 6'500'000;
  std::set<std::uint64_t> hashes;
  for (const std::int64_t bps : {1'000'000, 6'500'000, 13'000'000, 40'000'000}) {
    for (const std::int64_t frames : {15, 120}) {
      auto encoder = VideoEncoder::Open(spec);
      ASSERT_TRUE(encoder.ok());
      SetBitrate(**encoder, bps, frames);
      hashes.insert(ParameterSetHash((*encoder)->context()));
    }
  }
  EXPECT_EQ(hashes.size(), 1U);
}

// profile_idc and level_idc of the sequence parameter set.
std::pair<int, int> StatedByH264(const EncoderSpec& spec) {
  const auto encoder = VideoEncoder::Open(spec);
  if (!encoder.ok()) return {};
  const AVCodecContext& context = (*encoder)->context();
  const std::vector<std::uint8_t> bytes(context.extradata,
                                        context.extradata + context.extradata_size);
  const std::vector<std::uint8_t> start{0, 0, 1, 0x67};
  const auto found = std::ranges::search(bytes, start);
  if (bytes.end() - found.begin() < 7) return {};
  return {found.begin()[4], found.begin()[6]};
}

// Peaks of 11 Mbit/s at 640x360: level 3 takes 10 in Baseline and Main, 12.5 in High.
TEST(EncoderParameters, TheLevelOfH264GoesByTheProfileThatIsWritten) {
  struct Row {
    Preset preset;
    Profile asked;
    int profile_idc, level_idc;
    std::int64_t level_rate;
  };
  for (const Row& row : {Row{Preset::kVeryfast, Profile::kAuto, 100, 30, 12'500'000},
                         Row{Preset::kVeryfast, Profile::kHigh, 100, 30, 12'500'000},
                         Row{Preset::kVeryfast, Profile::kMain, 77, 31, 14'000'000},
                         Row{Preset::kVeryfast, Profile::kBaseline, 66, 31, 14'000'000},
                         Row{Preset::kVeryfast, Profile::kHigh10, 110, 30, 30'000'000},
                         Row{Preset::kSuperfast, Profile::kAuto, 100, 30, 12'500'000},
                         Row{Preset::kUltrafast, Profile::kAuto, 66, 31, 14'000'000},
                         Row{Preset::kUltrafast, Profile::kHigh, 66, 31, 14'000'000},
                         Row{Preset::kUltrafast, Profile::kMain, 66, 31, 14'000'000},
                         Row{Preset::kUltrafast, Profile::kHigh10, 110, 30, 30'000'000}}) {
    SCOPED_TRACE("preset " + std::to_string(static_cast<int>(row.preset)) + " profile " +
                 std::string(Name(row.asked)));
    EncoderSpec spec = SpecFor(VideoCodec::kH264, {.width = 640, .height = 360});
    spec.preset = row.preset;
    spec.profile = row.asked;
    if (row.asked == Profile::kHigh10) spec.pixel_format = AV_PIX_FMT_YUV420P10;
    spec.nominal_bps = 5'500'000;
    EXPECT_EQ(StatedByH264(spec), (std::pair{row.profile_idc, row.level_idc}));
    EXPECT_EQ(LevelRate(spec), row.level_rate);
  }
}

void ExpectSameParameterSets(const EncoderSpec& a, const EncoderSpec& b) {
  const auto left = VideoEncoder::Open(a);
  const auto right = VideoEncoder::Open(b);
  ASSERT_TRUE(left.ok() && right.ok());
  EXPECT_EQ(ParameterSetHash((*left)->context()), ParameterSetHash((*right)->context()));
  EXPECT_EQ((*left)->reorder_delay(), (*right)->reorder_delay());
}

TEST(EncoderParameters, ParameterSetsDoNotDependOnTheEffort) {
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
        for (const bool b_frames : {true, false}) {
          spec.b_frames = b_frames;
          ExpectSameParameterSets(spec, WithLessSearch(spec));
        }
      }
    }
  }
}

// Decoding times go on by a constant delay, whatever the size.
TEST(EncoderParameters, TheReorderDelayDoesNotDependOnTheSize) {
  const Scene scene;
  for (const VideoCodec codec : {VideoCodec::kH264, VideoCodec::kHevc}) {
    for (int preset = 0; preset <= static_cast<int>(Preset::kVeryslow); ++preset) {
      for (const bool low_delay : {false, true}) {
        if (low_delay && codec != VideoCodec::kH264) continue;
        EncoderSpec whole = SpecFor(codec, scene);
        whole.preset = static_cast<Preset>(preset);
        whole.low_delay = low_delay;
        whole.global_header = false;
        whole.width = 1920;
        whole.height = 1080;
        EncoderSpec half = WithLessSearch(whole);
        half.width = 960;
        half.height = 540;
        const auto left = VideoEncoder::Open(whole);
        const auto right = VideoEncoder::Open(half);
        ASSERT_TRUE(left.ok() && right.ok());
        EXPECT_EQ((*left)->reorder_delay(), (*right)->reorder_delay())
            << Name(codec) << " preset " << preset;
      }
    }
  }
}

TEST(LowDelayEncoder, ReordersNothingWhereItIsAskedNotToOrTheProfileForbidsIt) {
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
  plain.b_frames = false;
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

TEST(EncoderParameters, WithoutBFramesNothingIsReordered) {
  const Scene scene;
  for (const VideoCodec codec : {VideoCodec::kH264, VideoCodec::kHevc}) {
    EncoderSpec spec = SpecFor(codec, scene);
    spec.b_frames = false;
    const auto encoder = VideoEncoder::Open(spec);
    ASSERT_TRUE(encoder.ok());
    EXPECT_EQ((*encoder)->reorder_delay(), 0) << Name(codec);
    std::int64_t last = -1;
    for (int n = 0; n < 40; ++n) {
      const av::Frame frame = n < 30 ? MakeFrame(scene, n) : nullptr;
      if (n <= 30) {
        ASSERT_TRUE((*encoder)->Send(frame.get()).ok());
      }
      const av::Packet packet = av::NewPacket();
      while ((*encoder)->Receive(*packet).value()) {
        EXPECT_EQ(packet->pts, last + 1) << Name(codec);
        EXPECT_EQ(packet->dts, packet->pts) << Name(codec);
        last = packet->pts;
        av_packet_unref(packet.get());
      }
    }
    EXPECT_EQ(last, 29) << Name(codec);
  }
}

// A frame leaves when two more have come, or at once.
TEST(LowDelayEncoder, HoldsTwoFramesAtMost) {
  const Scene scene;
  for (const bool b_frames : {true, false}) {
    EncoderSpec spec = SpecFor(VideoCodec::kH264, scene);
    spec.low_delay = true;
    spec.b_frames = b_frames;
    auto encoder = VideoEncoder::Open(spec);
    ASSERT_TRUE(encoder.ok());
    SetBitrate(**encoder, 200'000, 30);
    int packets = 0;
    for (int n = 0; n < 30; ++n) {
      const av::Frame frame = MakeFrame(scene, n);
      ASSERT_TRUE((*encoder)->Send(frame.get()).ok());
      const av::Packet packet = av::NewPacket();
      while ((*encoder)->Receive(*packet).value()) {
        ++packets;
        av_packet_unref(packet.get());
      }
      EXPECT_GE(packets, n + 1 - (b_frames ? 2 : 0)) << n;
    }
  }
}

TEST(EncoderParameters, WithoutGlobalHeaderTheParametersAreInTheFirstPacket) {
  const Scene scene;
  for (const VideoCodec codec : {VideoCodec::kH264, VideoCodec::kHevc, VideoCodec::kMpeg4}) {
    SCOPED_TRACE(Name(codec));
    EncoderSpec spec = SpecFor(codec, scene);
    spec.global_header = false;
    EncodedUnit unit = EncodeWithParameters(spec, 300'000, scene, 0, 6);
    av_freep(static_cast<void*>(&unit.parameters->extradata));
    unit.parameters->extradata_size = 0;
    EXPECT_EQ(DecodeUnit(unit, spec.fps.Inverse()).size(), 6U);
  }
}

// --- properties -------------------------------------------------------------------------------

TEST(EncoderParameters, CarriesColourAspectAndDepth) {
  const Scene scene{.format = AV_PIX_FMT_YUV420P10};
  for (const VideoCodec codec : {VideoCodec::kHevc, VideoCodec::kAv1, VideoCodec::kH264}) {
    SCOPED_TRACE(Name(codec));
    EncoderSpec spec = SpecFor(codec, scene);
    if (codec == VideoCodec::kH264) spec.profile = Profile::kHigh10;
    spec.color_primaries = AVCOL_PRI_BT2020;
    spec.color_trc = AVCOL_TRC_SMPTE2084;
    spec.color_space = AVCOL_SPC_BT2020_NCL;
    spec.color_range = AVCOL_RANGE_MPEG;
    const auto frames = DecodeUnit(EncodeWithParameters(spec, 300'000, scene, 0, 4), {1, 25});
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

TEST(EncoderParameters, CarriesHdr10Metadata) {
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
    const auto frames = DecodeUnit(EncodeWithParameters(spec, 300'000, scene, 0, 4), {1, 25});
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

// A damaged source may say anything; the pictures are made without it.
TEST(EncoderParameters, OpensWithHdr10MetadataThatHasNoValue) {
  AVMasteringDisplayMetadata display{};  // all fractions 0/0
  display.has_primaries = display.has_luminance = 1;
  const AVContentLightMetadata light{.MaxCLL = 1'000'000, .MaxFALL = 400};
  const Scene scene{.format = AV_PIX_FMT_YUV420P10};
  for (const VideoCodec codec : {VideoCodec::kH264, VideoCodec::kHevc, VideoCodec::kAv1}) {
    SCOPED_TRACE(Name(codec));
    EncoderSpec spec = SpecFor(codec, scene);
    if (codec == VideoCodec::kH264) spec.profile = Profile::kHigh10;
    spec.mastering_display = Bytes(display);
    spec.content_light = Bytes(light);
    EXPECT_EQ(DecodeUnit(EncodeWithParameters(spec, 300'000, scene, 0, 4), {1, 25}).size(), 4U);
  }
}

}  // namespace
}  // namespace gopmill
