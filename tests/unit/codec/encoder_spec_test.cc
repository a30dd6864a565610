// SPDX-License-Identifier: Apache-2.0
//
// MakeEncoderSpec: what combinations are refused, and what of the source goes into the output.
extern "C" {
#include <libavutil/pixfmt.h>
}

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "codec/video_encoder.h"
#include "media/resolve_target.h"
#include "tests/unit/codec/test_frames.h"

namespace gopmill {
namespace {

StreamPlan PlanFor(VideoCodec codec, Profile profile = Profile::kAuto, int source_bits = 8) {
  auto source = std::make_shared<SourceInfo>();
  std::shared_ptr<AVCodecParameters> parameters(
      avcodec_parameters_alloc(), [](AVCodecParameters* p) { avcodec_parameters_free(&p); });
  parameters->format = source_bits > 8 ? AV_PIX_FMT_YUV420P10 : AV_PIX_FMT_YUV420P;
  source->video.parameters = parameters;
  source->video.width = 854;
  source->video.height = 480;
  source->video.bit_depth = source_bits;
  StreamPlan plan;
  plan.source = source;
  plan.target.vcodec = codec;
  plan.target.profile = profile;
  plan.target.width = 640;
  plan.target.height = 360;
  plan.target.fps = {24, 1};
  plan.target.bitrate = 600'000;
  return plan;
}

int Format(VideoCodec codec, Profile profile, int source_bits) {
  const auto spec = MakeEncoderSpec(PlanFor(codec, profile, source_bits));
  return spec.ok() ? spec->pixel_format : -1;
}

TEST(EncoderSpec, KeepsTenBitsWhereBrowsersTakeThem) {
  EXPECT_EQ(Format(VideoCodec::kH264, Profile::kAuto, 10), AV_PIX_FMT_YUV420P);
  EXPECT_EQ(Format(VideoCodec::kMpeg4, Profile::kAuto, 10), AV_PIX_FMT_YUV420P);
  EXPECT_EQ(Format(VideoCodec::kH264, Profile::kHigh10, 8), AV_PIX_FMT_YUV420P10);
  for (const VideoCodec codec : {VideoCodec::kHevc, VideoCodec::kAv1, VideoCodec::kVp9}) {
    EXPECT_EQ(Format(codec, Profile::kAuto, 10), AV_PIX_FMT_YUV420P10);
    EXPECT_EQ(Format(codec, Profile::kAuto, 8), AV_PIX_FMT_YUV420P);
  }
  EXPECT_EQ(Format(VideoCodec::kHevc, Profile::kMain, 10), AV_PIX_FMT_YUV420P);
  EXPECT_EQ(Format(VideoCodec::kHevc, Profile::kMain10, 8), AV_PIX_FMT_YUV420P10);
}

// Of all pairs: what a refusal offers is taken, and nothing else.
TEST(EncoderSpec, TakesTheProfilesThatAreOffered) {
  const auto spec = [](VideoCodec codec, Profile profile) {
    return MakeEncoderSpec(PlanFor(codec, profile));
  };
  for (const VideoCodec codec : {VideoCodec::kH264, VideoCodec::kHevc, VideoCodec::kAv1,
                                 VideoCodec::kVp9, VideoCodec::kMpeg4}) {
    const std::vector<Profile> offered = ProfilesOf(codec);
    for (const Profile profile : {Profile::kAuto, Profile::kBaseline, Profile::kMain,
                                  Profile::kHigh, Profile::kHigh10, Profile::kMain10}) {
      const bool is_offered = std::ranges::find(offered, profile) != offered.end();
      const auto made = spec(codec, profile);
      EXPECT_EQ(made.ok(), is_offered) << Name(codec) << " " << Name(profile);
      EXPECT_EQ(CheckProfile(codec, profile).ok(), is_offered);
      if (made.ok()) {
        EXPECT_TRUE(VideoEncoder::Open(*made).ok()) << Name(codec) << " " << Name(profile);
        continue;
      }
      EXPECT_EQ(made.error().code, Code::kInvalidArgument);
      EXPECT_EQ(made.error().parameter, "profile");
      for (const Profile each : offered) {
        EXPECT_NE(made.error().accepted.find(Name(each)), std::string::npos);
      }
    }
  }
}

// A unit may aim at more than the stream, and a cap lie above what SVT-AV1 takes.
TEST(EncoderSpec, OpensAv1AtRatesAboveItsHighest) {
  StreamPlan plan = PlanFor(VideoCodec::kAv1);
  plan.target.bitrate = kMaxAv1Bitrate;
  const auto encoder = VideoEncoder::Open(*MakeEncoderSpec(plan));
  ASSERT_TRUE(encoder.ok());
  testing::SetBitrate(**encoder, kMaxAv1Bitrate * 3 / 2);
  EXPECT_TRUE((*encoder)->opened().ok()) << (*encoder)->opened().error().ToString();
  plan.target.rate_mode = RateMode::kCrf;
  plan.target.crf = 30;
  plan.target.maxrate = plan.target.bufsize = kMaxBitrate;
  const auto capped = VideoEncoder::Open(*MakeEncoderSpec(plan));
  ASSERT_TRUE(capped.ok());
  EXPECT_EQ((*capped)->context().rc_max_rate, kMaxAv1Bitrate);
  EXPECT_TRUE((*capped)->opened().ok()) << (*capped)->opened().error().ToString();
}

TEST(EncoderSpec, RefusesFrameRatesThatMpeg4CannotExpress) {
  StreamPlan plan = PlanFor(VideoCodec::kMpeg4);
  plan.target.fps = {119'880, 1001};
  EXPECT_EQ(MakeEncoderSpec(plan).error().parameter, "fps");
}

TEST(EncoderSpec, TakesColourAndAspectFromTheSource) {
  StreamPlan plan = PlanFor(VideoCodec::kH264);
  auto source = std::make_shared<SourceInfo>(*plan.source);
  std::shared_ptr<AVCodecParameters> parameters(
      avcodec_parameters_alloc(), [](AVCodecParameters* p) { avcodec_parameters_free(&p); });
  parameters->format = AV_PIX_FMT_YUVJ420P;
  parameters->color_space = AVCOL_SPC_BT470BG;
  source->video.parameters = parameters;
  plan.source = source;
  const auto spec = MakeEncoderSpec(plan);
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->color_space, AVCOL_SPC_BT470BG);
  EXPECT_EQ(spec->color_range, AVCOL_RANGE_JPEG);
  EXPECT_EQ(spec->sample_aspect, (Rational{1, 1}));
  EXPECT_TRUE(spec->global_header);
  plan.target.container = Container::kTs;
  EXPECT_FALSE(MakeEncoderSpec(plan)->global_header);
}

// FFmpeg takes grey that states no range for full, players take all that states none for limited.
TEST(EncoderSpec, GreyOfNoStatedRangeBecomesLimited) {
  const auto range_of = [](AVPixelFormat format, AVColorRange stated) {
    const StreamPlan plan = PlanFor(VideoCodec::kH264);
    auto& source = const_cast<AVCodecParameters&>(*plan.source->video.parameters);
    source.format = format;
    source.color_range = stated;
    return MakeEncoderSpec(plan)->color_range;
  };
  EXPECT_EQ(range_of(AV_PIX_FMT_GRAY8, AVCOL_RANGE_UNSPECIFIED), AVCOL_RANGE_MPEG);
  EXPECT_EQ(range_of(AV_PIX_FMT_YA8, AVCOL_RANGE_UNSPECIFIED), AVCOL_RANGE_MPEG);
  EXPECT_EQ(range_of(AV_PIX_FMT_GRAY8, AVCOL_RANGE_JPEG), AVCOL_RANGE_JPEG) << "as it states";
  EXPECT_EQ(range_of(AV_PIX_FMT_YUV420P, AVCOL_RANGE_UNSPECIFIED), AVCOL_RANGE_UNSPECIFIED);
}

TEST(EncoderSpec, AHighDynamicRangeIsKeptInTenBitsAndBecomesSdrInEight) {
  for (const AVColorTransferCharacteristic transfer :
       {AVCOL_TRC_SMPTE2084, AVCOL_TRC_ARIB_STD_B67}) {
    StreamPlan plan = PlanFor(VideoCodec::kHevc, Profile::kAuto, 10);
    auto source = std::make_shared<SourceInfo>(*plan.source);
    std::const_pointer_cast<AVCodecParameters>(source->video.parameters)->color_trc = transfer;
    source->video.content_light = {1, 2, 3};
    plan.source = source;
    EXPECT_EQ(MakeEncoderSpec(plan)->color_trc, transfer);
    EXPECT_FALSE(MakeEncoderSpec(plan)->content_light.empty());
    plan.target.profile = Profile::kMain;
    EXPECT_EQ(MakeEncoderSpec(plan)->color_trc, AVCOL_TRC_BT709);
    EXPECT_TRUE(MakeEncoderSpec(plan)->content_light.empty());
    plan.target.vcodec = VideoCodec::kH264;
    EXPECT_EQ(MakeEncoderSpec(plan)->color_primaries, AVCOL_PRI_BT709);
    plan.target.profile = Profile::kHigh10;
    EXPECT_EQ(MakeEncoderSpec(plan)->color_trc, transfer);
  }
}

std::optional<EncoderSpec> HalfOf(StreamPlan plan, int width, int height,
                                  Container container = Container::kTs) {
  plan.target.width = width;
  plan.target.height = height;
  plan.target.container = container;
  const auto spec = MakeEncoderSpec(plan);
  return spec.ok() ? WithHalfSize(*spec, plan) : std::nullopt;
}

TEST(HalfSize, IsEvenAndHasTheShapeOfTheWhole) {
  const StreamPlan plan = PlanFor(VideoCodec::kH264);
  const auto half = HalfOf(plan, 854, 480);
  ASSERT_TRUE(half.has_value());
  EXPECT_EQ(half->width, 426);
  EXPECT_EQ(half->height, 240);
  EXPECT_EQ(half->sample_aspect, (Rational{1, 1}));
  EXPECT_EQ(half->nominal_bps, 600'000);
  StreamPlan squeezed = plan;
  squeezed.target.fit = Fit::kFit;
  const auto narrow = HalfOf(squeezed, 480, 480);
  ASSERT_TRUE(narrow.has_value());
  EXPECT_EQ(narrow->width, 240);
  EXPECT_EQ(narrow->sample_aspect, (Rational{427, 240}));
}

TEST(HalfSize, IsTheSameButForTheSize) {
  StreamPlan plan = PlanFor(VideoCodec::kH264);
  plan.target.container = Container::kTs;
  const EncoderSpec whole = WithLessSearch(*MakeEncoderSpec(plan));
  auto half = WithHalfSize(whole, plan);
  ASSERT_TRUE(half.has_value());
  half->width = whole.width;
  half->height = whole.height;
  EXPECT_EQ(*half, whole);
}

TEST(HalfSize, IsForOutputsThatCarryTheirParameterSetsInBand) {
  const StreamPlan plan = PlanFor(VideoCodec::kH264);
  for (const Container container : {Container::kMp4, Container::kMkv}) {
    EXPECT_FALSE(HalfOf(plan, 640, 360, container).has_value());
  }
  EXPECT_TRUE(HalfOf(PlanFor(VideoCodec::kHevc), 640, 360).has_value());
  EXPECT_FALSE(HalfOf(PlanFor(VideoCodec::kMpeg4), 640, 360).has_value());
}

TEST(HalfSize, HasAFloor) {
  const StreamPlan plan = PlanFor(VideoCodec::kH264);
  EXPECT_TRUE(HalfOf(plan, 320, 180).has_value());
  EXPECT_FALSE(HalfOf(plan, 320, 178).has_value());
  EXPECT_TRUE(HalfOf(plan, 180, 320).has_value());
  EXPECT_FALSE(HalfOf(plan, 176, 320).has_value());
}

}  // namespace
}  // namespace gopmill
