// SPDX-License-Identifier: Apache-2.0
#include "media/codec_string.h"

extern "C" {
#include <libavcodec/codec_par.h>
#include <libavutil/channel_layout.h>
}

#include <gmock/gmock.h>

namespace gopmill {
namespace {

std::string Box(const std::string& type, const std::string& content) {
  const auto size = content.size() + 8;
  std::string box;
  for (int shift = 24; shift >= 0; shift -= 8) box += static_cast<char>(size >> shift & 0xFF);
  return box + type + content;
}

// An init segment whose one sample entry has this fixed part and configuration box.
std::string Init(const std::string& entry, std::size_t fixed, const std::string& config) {
  const std::string table = std::string(8, '\0') + Box(entry, std::string(fixed, '\0') + config);
  const std::string header =
      std::string(12, '\0') + std::string("\0\0\x3c\0", 4) + std::string(4, '\0');
  return Box("ftyp", "isom") +
         Box("moov", Box("trak", Box("mdia", Box("mdhd", header) +
                                                 Box("minf", Box("stbl", Box("stsd", table))))));
}

TEST(CodecStringTest, ReadsEachCodec) {
  EXPECT_EQ(*CodecString(Init("avc1", 78, Box("avcC", std::string("\x01\x64\0\x1f", 4)))),
            "avc1.64001F");
  const std::string hevc("\x01\x01\x60\0\0\0\x90\0\0\0\0\0\x5d", 13);
  EXPECT_EQ(*CodecString(Init("hvc1", 78, Box("hvcC", hevc))), "hvc1.1.6.L93.90");
  EXPECT_EQ(*CodecString(Init("av01", 78, Box("av1C", std::string("\x81\x04\x0c\0", 4)))),
            "av01.0.04M.08");
  EXPECT_EQ(*CodecString(Init("vp09", 78, Box("vpcC", std::string("\x01\0\0\0\0\x1f\x82", 7)))),
            "vp09.00.31.08");
  const std::string esds(
      "\0\0\0\0\x03\x80\x80\x80\x22\0\x01\0\x04\x80\x80\x80\x14\x40\x15"
      "\0\0\0\0\0\0\0\0\0\0\0\x05\x80\x80\x80\x02\x11\x90",
      37);
  EXPECT_EQ(*CodecString(Init("mp4a", 28, Box("esds", esds))), "mp4a.40.2");
  EXPECT_EQ(*CodecString(Init("Opus", 28, Box("dOps", ""))), "Opus");
}

// Where a string without them would say what is not so.
TEST(CodecStringTest, SaysHowColoursAreCoded) {
  const auto vp9 = [](const std::string& config) {
    return *CodecString(Init("vp09", 78, Box("vpcC", std::string("\x01\0\0\0", 4) + config)));
  };
  EXPECT_EQ(vp9("\x02\x1f\xa2\x09\x10\x09"), "vp09.02.31.10.01.09.16.09.00");
  EXPECT_EQ(vp9("\x02\x1f\xa2\x01\x01\x01"), "vp09.02.31.10") << "BT.709";
  EXPECT_EQ(vp9("\x02\x1f\xa0\x02\x02\x02"), "vp09.02.31.10") << "not known";
  EXPECT_EQ(vp9("\x02\x1f\xa3\x01\x01\x01"), "vp09.02.31.10.01.01.01.01.01") << "full range";
  EXPECT_EQ(vp9("\x03\x1f\xa6\x02\x02\x02"), "vp09.03.31.10.03.02.02.02.00") << "4:4:4";
  const auto av1 = [](const std::string& config, const std::string& colours) {
    const std::string coded = Box("av1C", std::string("\x81\x04", 2) + config + '\0');
    const std::string box = colours.empty() ? "" : Box("colr", colours);
    return *CodecString(Init("av01", 78, coded + box));
  };
  const std::string hlg("nclx\0\x09\0\x12\0\x09\0", 11);
  EXPECT_EQ(av1("\x4e", hlg), "av01.0.04M.10.0.112.09.18.09.0");
  EXPECT_EQ(av1("\x4e", ""), "av01.0.04M.10");
  EXPECT_EQ(av1("\x4e", std::string("nclx\0\x01\0\x01\0\x01\0", 11)), "av01.0.04M.10");
  EXPECT_EQ(av1("\x4e", hlg.substr(0, 10)), "av01.0.04M.10") << "cut off";
  EXPECT_EQ(av1("\x1c", ""), "av01.0.04M.08.1.110.02.02.02.0") << "grey";
}

TEST(ChannelsTest, AreNamedByTheirLayout) {
  AVCodecParameters* parameters = avcodec_parameters_alloc();
  const auto named = [&](std::uint64_t mask) {
    EXPECT_EQ(av_channel_layout_from_mask(&parameters->ch_layout, mask), 0);
    return ChannelConfigurationOf(*parameters);
  };
  EXPECT_EQ(named(AV_CH_LAYOUT_MONO), 1);
  EXPECT_EQ(named(AV_CH_LAYOUT_STEREO), 2);
  EXPECT_EQ(named(AV_CH_LAYOUT_4POINT0), 4);
  EXPECT_EQ(named(AV_CH_LAYOUT_QUAD), 10);
  EXPECT_EQ(named(AV_CH_LAYOUT_5POINT1), 6);
  EXPECT_EQ(named(AV_CH_LAYOUT_5POINT1_BACK), 6);
  EXPECT_EQ(named(AV_CH_LAYOUT_6POINT1), 11);
  EXPECT_EQ(named(AV_CH_LAYOUT_7POINT1), 12);
  EXPECT_EQ(named(AV_CH_LAYOUT_7POINT1_WIDE_BACK), 7);
  EXPECT_EQ(named(AV_CH_LAYOUT_6POINT0), 6) << "a layout that has no number";
  for (const auto& [channels, number] : {std::pair{2, 2}, {6, 6}, {7, 11}, {8, 12}}) {
    parameters->ch_layout.order = AV_CHANNEL_ORDER_UNSPEC;
    parameters->ch_layout.nb_channels = channels;
    EXPECT_EQ(ChannelConfigurationOf(*parameters), number);
  }
  avcodec_parameters_free(&parameters);
}

TEST(CodecStringTest, ReadsTheTimescale) {
  EXPECT_EQ(*TrackTimescale(Init("Opus", 28, "")), 15'360);
}

TEST(CodecStringTest, GarbageIsAnError) {
  EXPECT_FALSE(CodecString("").ok());
  EXPECT_FALSE(CodecString(std::string(100, '\xff')).ok());
  EXPECT_FALSE(CodecString(Init("mp4v", 78, "")).ok());
  EXPECT_FALSE(TrackTimescale("moov").ok());
  const std::string whole = Init("avc1", 78, Box("avcC", std::string("\x01\x64\0\x1f", 4)));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(CodecString(whole.substr(0, size)).ok()) << size;
  }
}

TEST(DynamicRangeTest, IsToldOfHighOnesAlone) {
  AVCodecParameters* parameters = avcodec_parameters_alloc();
  parameters->color_primaries = AVCOL_PRI_BT2020;
  parameters->color_space = AVCOL_SPC_BT2020_NCL;
  parameters->color_trc = AVCOL_TRC_BT2020_10;
  EXPECT_EQ(DynamicRangeOf(*parameters).hls, "");
  EXPECT_EQ(DynamicRangeOf(*parameters).dash, "");
  parameters->color_trc = AVCOL_TRC_ARIB_STD_B67;
  EXPECT_EQ(DynamicRangeOf(*parameters).hls, "HLG");
  parameters->color_trc = AVCOL_TRC_SMPTE2084;
  EXPECT_EQ(DynamicRangeOf(*parameters).hls, "PQ");
  for (const char* code :
       {"cicp:ColourPrimaries\" value=\"9\"", "cicp:MatrixCoefficients\" value=\"9\"",
        "cicp:TransferCharacteristics\" value=\"16\""}) {
    EXPECT_NE(DynamicRangeOf(*parameters).dash.find(code), std::string::npos) << code;
  }
  avcodec_parameters_free(&parameters);
}

}  // namespace
}  // namespace gopmill
