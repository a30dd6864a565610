// SPDX-License-Identifier: Apache-2.0
#include "media/first_picture.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace gopmill {
namespace {

VideoInfo VideoOf(std::string codec, int height) {
  VideoInfo video;
  video.codec = std::move(codec);
  video.width = 720;
  video.height = height;
  video.parameters =
      std::shared_ptr<const AVCodecParameters>(av::CodecParameters(avcodec_parameters_alloc()));
  return video;
}

bool ToldInterlaced(VideoInfo video, std::span<const std::uint8_t> bytes) {
  DescribeFirstPicture(*av::NewPacket(bytes), video);
  return video.interlaced;
}

// The first picture of a DVD may be a whole one, and those behind it of fields.
TEST(FirstPicture, Mpeg2IsInterlacedWhereItsSequenceMayBe) {
  // A sequence's header, its extension, that of a display, a picture's header.
  std::array<std::uint8_t, 24> bytes{0,    0, 1, 0xB3, 0x2D, 0x02, 0x40, 0,    0,    1, 0xB5, 0x14,
                                     0x82, 0, 1, 0,    0,    0,    1,    0xB5, 0x23, 0, 0,    1};
  EXPECT_TRUE(ToldInterlaced(VideoOf("mpeg2video", 576), bytes));
  EXPECT_FALSE(ToldInterlaced(VideoOf("mpeg1video", 576), bytes));
  bytes[12] |= 0x08;
  EXPECT_FALSE(ToldInterlaced(VideoOf("mpeg2video", 576), bytes)) << "no picture of it is";
  EXPECT_FALSE(ToldInterlaced(VideoOf("mpeg2video", 576), std::span(bytes).first(12))) << "cut off";
  EXPECT_FALSE(ToldInterlaced(VideoOf("mpeg2video", 576), {}));
}

TEST(FirstPicture, DvIsInterlacedButForThatOf720Lines) {
  constexpr std::array<std::uint8_t, 8> kBytes{};
  EXPECT_TRUE(ToldInterlaced(VideoOf("dvvideo", 480), kBytes));
  EXPECT_TRUE(ToldInterlaced(VideoOf("dvvideo", 576), kBytes));
  EXPECT_TRUE(ToldInterlaced(VideoOf("dvvideo", 1080), kBytes));
  EXPECT_FALSE(ToldInterlaced(VideoOf("dvvideo", 720), kBytes));
}

TEST(FirstPicture, WhatCannotBeDecodedTellsNothing) {
  constexpr std::array<std::uint8_t, 8> kBytes{};
  EXPECT_FALSE(ToldInterlaced(VideoOf("mjpeg", 480), kBytes));
}

}  // namespace
}  // namespace gopmill
