// SPDX-License-Identifier: Apache-2.0
#include "codec/picture_sheet.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/unit/codec/test_frames.h"

namespace gopmill::picture_sheet_test {
namespace {

constexpr Rational kTimeBase{1, 90'000};

// A sheet of one reddish picture with so many lines, whose source states that matrix.
std::string SheetOf(int lines, AVColorSpace matrix) {
  constexpr int kWidth = 64, kTile = 32;
  const av::CodecContext context(avcodec_alloc_context3(avcodec_find_encoder(AV_CODEC_ID_HUFFYUV)));
  context->width = kWidth;
  context->height = lines;
  context->pix_fmt = AV_PIX_FMT_YUV422P;
  context->time_base = {1, 25};
  EXPECT_EQ(avcodec_open2(context.get(), context->codec, nullptr), 0);
  const av::Frame frame = testing::MakePlainFrame(kWidth, lines, AV_PIX_FMT_YUV422P, 100, 100, 200);
  frame->pts = 0;
  auto input = std::make_shared<UnitInput>();
  av::Packet packet = av::NewPacket();
  EXPECT_EQ(avcodec_send_frame(context.get(), frame.get()), 0);
  EXPECT_EQ(avcodec_receive_packet(context.get(), packet.get()), 0);
  input->packets.push_back(std::move(packet));
  std::shared_ptr<AVCodecParameters> parameters(
      avcodec_parameters_alloc(), [](AVCodecParameters* p) { avcodec_parameters_free(&p); });
  EXPECT_GE(avcodec_parameters_from_context(parameters.get(), context.get()), 0);
  parameters->color_space = matrix;
  auto source = std::make_shared<SourceInfo>();
  source->video = {.codec = "huffyuv",
                   .width = kWidth,
                   .height = lines,
                   .time_base = kTimeBase,
                   .fps = {25, 1},
                   .mastering_display = {},
                   .content_light = {},
                   .parameters = parameters};
  auto plan = std::make_shared<StreamPlan>();
  plan->source = source;
  plan->target.width = plan->target.height = kTile;
  plan->grid = OutputGrid({25, 1}, {25, 1}, kTimeBase, 0);
  ContextCache cache(0);
  const auto sheet =
      MakeSheet({.plan = plan, .runs = {{.input = input, .frames = {0}}}}, cache, {});
  EXPECT_TRUE(sheet.ok());
  return sheet.ok() ? *sheet : std::string();
}

TEST(PictureSheet, TakesTheMatrixOfPlayersWhereNoneIsStated) {
  EXPECT_EQ(SheetOf(576, AVCOL_SPC_UNSPECIFIED), SheetOf(576, AVCOL_SPC_SMPTE170M));
  EXPECT_EQ(SheetOf(600, AVCOL_SPC_UNSPECIFIED), SheetOf(600, AVCOL_SPC_BT709));
  EXPECT_NE(SheetOf(600, AVCOL_SPC_BT709), SheetOf(600, AVCOL_SPC_SMPTE170M));
}

}  // namespace
}  // namespace gopmill::picture_sheet_test
