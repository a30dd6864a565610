// SPDX-License-Identifier: Apache-2.0
#include "codec/picture_description.h"

extern "C" {
#include <libavcodec/avcodec.h>
}

#include <gmock/gmock.h>

#include <memory>

namespace gopmill {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Described {
  AVPixelFormat format = AV_PIX_FMT_YUV420P;
  int bits = 8;
  AVColorRange range = AVCOL_RANGE_MPEG;
  AVColorTransferCharacteristic transfer = AVCOL_TRC_BT709;
};

PictureDescription Of(const Described& source, VideoCodec codec) {
  auto info = std::make_shared<SourceInfo>();
  const std::shared_ptr<AVCodecParameters> parameters(
      avcodec_parameters_alloc(), [](AVCodecParameters* p) { avcodec_parameters_free(&p); });
  parameters->format = source.format;
  parameters->color_range = source.range;
  parameters->color_space = AVCOL_SPC_BT709;
  parameters->color_trc = source.transfer;
  info->video.parameters = parameters;
  info->video.width = 640;
  info->video.height = 360;
  info->video.bit_depth = source.bits;
  StreamPlan plan;
  plan.source = info;
  plan.target.vcodec = codec;
  plan.target.width = 640;
  plan.target.height = 360;
  plan.target.fps = {25, 1};
  plan.target.bitrate = 600'000;
  return DescribePictures(info->video, MakeEncoderSpec(plan).value());
}

TEST(PictureDescription, OfTheUsualHasNothingConverted) {
  const auto plain = Of({}, VideoCodec::kH264);
  EXPECT_EQ(plain.pixel_format, "yuv420p");
  EXPECT_EQ(plain.matrix, "bt709");
  EXPECT_EQ(plain.transfer, "bt709");
  EXPECT_EQ(plain.primaries, "unknown");
  EXPECT_EQ(plain.range, "tv");
  EXPECT_THAT(plain.converted, IsEmpty());
  EXPECT_FALSE(plain.dithered);
}

TEST(PictureDescription, NamesWhatIsConverted) {
  const auto deep = Of({.format = AV_PIX_FMT_YUV422P10, .bits = 10}, VideoCodec::kH264);
  EXPECT_THAT(deep.converted, ElementsAre("chroma", "depth"));
  EXPECT_TRUE(deep.dithered);
  const auto kept = Of({.format = AV_PIX_FMT_YUV420P10, .bits = 10}, VideoCodec::kHevc);
  EXPECT_THAT(kept.converted, IsEmpty());
  EXPECT_FALSE(kept.dithered);
  EXPECT_THAT(Of({.format = AV_PIX_FMT_GBRP}, VideoCodec::kH264).converted, ElementsAre("RGB"));
  const Described full{.format = AV_PIX_FMT_YUVJ420P, .range = AVCOL_RANGE_JPEG};
  EXPECT_THAT(Of(full, VideoCodec::kMpeg4).converted, ElementsAre("range"));
  EXPECT_THAT(Of(full, VideoCodec::kH264).converted, IsEmpty());
  EXPECT_EQ(Of(full, VideoCodec::kH264).range, "pc");
  const Described gray{.format = AV_PIX_FMT_GRAY8, .range = AVCOL_RANGE_UNSPECIFIED};
  EXPECT_THAT(Of(gray, VideoCodec::kH264).converted, ElementsAre("chroma", "range"));
  EXPECT_EQ(Of(gray, VideoCodec::kH264).range, "tv");
}

TEST(PictureDescription, ToneMappingIsNoDither) {
  const Described hlg{
      .format = AV_PIX_FMT_YUV420P10, .bits = 10, .transfer = AVCOL_TRC_ARIB_STD_B67};
  const auto mapped = Of(hlg, VideoCodec::kH264);
  EXPECT_THAT(mapped.converted, ElementsAre("dynamic range", "depth"));
  EXPECT_EQ(mapped.transfer, "bt709");
  EXPECT_FALSE(mapped.dithered);
}

}  // namespace
}  // namespace gopmill
