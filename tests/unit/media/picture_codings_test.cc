// SPDX-License-Identifier: Apache-2.0
#include "media/picture_codings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace gopmill {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::shared_ptr<const SourceInfo> Described(AVCodecID codec, const Bytes& header) {
  AVCodecParameters* parameters = avcodec_parameters_alloc();
  parameters->codec_type = AVMEDIA_TYPE_VIDEO;
  parameters->codec_id = codec;
  parameters->extradata =
      static_cast<std::uint8_t*>(av_mallocz(header.size() + AV_INPUT_BUFFER_PADDING_SIZE));
  std::ranges::copy(header, parameters->extradata);
  parameters->extradata_size = static_cast<int>(header.size());
  auto info = std::make_shared<SourceInfo>();
  info->video.codec = avcodec_get_name(codec);
  info->video.parameters = {parameters, [](AVCodecParameters* p) { avcodec_parameters_free(&p); }};
  return info;
}

// Of H.264: headers that say no more than how long lengths are, and one IDR or other slice.
const Bytes kFirstSets{1, 66, 0, 30, 0xFF, 0xE0, 0}, kOtherSets{1, 66, 0, 40, 0xFF, 0xE0, 0};

av::Packet Picture(bool idr, const Bytes& header = {}) {
  const std::uint8_t kind = idr ? 0x65 : 0x41;
  const Bytes data{0, 0, 0, 2, kind, 0x88};
  av::Packet packet = av::NewPacket();
  EXPECT_EQ(av_new_packet(packet.get(), static_cast<int>(data.size())), 0);
  std::ranges::copy(data, packet->data);
  if (idr) packet->flags |= AV_PKT_FLAG_KEY;
  SetHeader(*packet, header);
  return packet;
}

Bytes HeaderNow(const PictureCodings& codings) {
  const auto header = HeaderOf(*codings.now()->video.parameters);
  return {header.begin(), header.end()};
}

class PictureCodingsTest : public testing::Test {
 protected:
  PictureCodingsTest() { codings_.Begin(described_, nullptr); }
  // The header that the picture has when it is handed out.
  Bytes Pass(av::Packet picture) {
    codings_.Read(*described_, *picture);
    const auto header = HeaderIn(*picture);
    Bytes brought(header.begin(), header.end());
    codings_.Take(*picture);
    return brought;
  }

  std::shared_ptr<const SourceInfo> described_ = Described(AV_CODEC_ID_H264, kFirstSets);
  PictureCodings codings_;
};

TEST_F(PictureCodingsTest, GoesFromOneToTheOtherAndBack) {
  Pass(Picture(true));
  EXPECT_EQ(codings_.now(), described_);
  Pass(Picture(true, kOtherSets));
  EXPECT_EQ(HeaderNow(codings_), kOtherSets);
  const auto other = codings_.now();
  Pass(Picture(true));
  EXPECT_EQ(codings_.now(), other) << "until another one comes";
  Pass(Picture(true, kFirstSets));
  EXPECT_EQ(codings_.now(), described_) << "the same object";
  Pass(Picture(true, kOtherSets));
  EXPECT_EQ(codings_.now(), other);
}

TEST_F(PictureCodingsTest, WaitsForAPictureThatCanBeDecodedOnItsOwn) {
  EXPECT_EQ(Pass(Picture(false, kOtherSets)), kOtherSets) << "the decoder may take it as it comes";
  EXPECT_EQ(codings_.now(), described_);
  EXPECT_EQ(Pass(Picture(true)), kOtherSets);
  EXPECT_EQ(HeaderNow(codings_), kOtherSets);
}

TEST_F(PictureCodingsTest, KeepsTheHeaderOfAPictureThatIsLeftOut) {
  const av::Packet left_out = Picture(false, kOtherSets);
  codings_.Read(*described_, *left_out);
  EXPECT_EQ(Pass(Picture(true)), kOtherSets);
}

TEST_F(PictureCodingsTest, KnowsTheHeaderBehindASeek) {
  Pass(Picture(true, kOtherSets));
  codings_.Returned(*Picture(true));
  Pass(Picture(true));
  EXPECT_EQ(codings_.now(), described_) << "that of the first picture, where it tells of none";
  codings_.Returned(*Picture(true, kOtherSets));
  Pass(Picture(true));
  EXPECT_EQ(HeaderNow(codings_), kOtherSets);
  codings_.Reopened();
  Pass(Picture(true));
  EXPECT_EQ(codings_.now(), described_);
}

TEST_F(PictureCodingsTest, LeavesPicturesOfOneHeaderAlone) {
  codings_.Returned(*Picture(true));
  EXPECT_TRUE(Pass(Picture(true)).empty());
}

TEST_F(PictureCodingsTest, IgnoresTooManyHeaders) {
  for (std::size_t n = 0; n < 2 * kMaxFileHeaders; ++n) {
    Bytes header = kOtherSets;
    header.push_back(static_cast<std::uint8_t>(n));
    header.push_back(static_cast<std::uint8_t>(n >> 8U));
    Pass(Picture(true, header));
  }
  EXPECT_EQ(HeaderNow(codings_)[kOtherSets.size()] + 1, kMaxFileHeaders - 1);
}

TEST(CodingFrom, IsNoneWhereNoDecoderTakesTheHeader) {
  const auto before = Described(AV_CODEC_ID_HEVC, {});
  const Bytes idr{0, 0, 1, 0x26, 1, 0xAF};
  const av::Packet picture = av::NewPacket();
  ASSERT_EQ(av_new_packet(picture.get(), static_cast<int>(idr.size())), 0);
  std::ranges::copy(idr, picture->data);
  picture->flags |= AV_PKT_FLAG_KEY;
  Bytes header(21, 1);  // of hvcC; then one list of one unit, longer than what follows
  header.insert(header.end(), {3, 1, 0x20, 0, 1, 0xFF, 0xFF});
  SetHeader(*picture, header);
  EXPECT_NE(WithNewHeader(*before, true, 0, *picture), nullptr);
  EXPECT_EQ(CodingFrom(*before, *picture), nullptr);
}

}  // namespace
}  // namespace gopmill
