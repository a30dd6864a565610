// SPDX-License-Identifier: Apache-2.0
#include "media/segment_muxer.h"

#include <gmock/gmock.h>

#include <map>
#include <string>

#include "media/codec_string.h"
#include "tests/unit/mux/mux_media.h"

namespace gopmill::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string InitOf(const MuxTrack& track) {
  const auto init = MakeInitSegment(track, 0);
  EXPECT_TRUE(init.ok()) << init.error().ToString();
  return init.ok() ? *init : "";
}

TEST(SegmentMuxerTest, AHeaderSaysThatItIsCmaf) {
  const std::vector<float> silence(4800);
  for (const Coded& coded : {MakeVideo({}), MakeAudio("aac", silence, 48'000, 2),
                             MakeVideo({.encoder = "libvpx-vp9", .b_frames = 0})}) {
    const std::string init = InitOf(TrackOf(coded));
    ASSERT_THAT(init, HasSubstr("moov"));
    const std::string type = init.substr(0, init.find("moov") - 4);
    EXPECT_EQ(type.substr(4, 4), "ftyp");
    EXPECT_EQ(type.size(), static_cast<std::size_t>(type[3]));
    EXPECT_THAT(type.substr(16), HasSubstr("iso6"));
    EXPECT_THAT(type.substr(16), EndsWith("cmfc"));
    EXPECT_TRUE(TrackTimescale(init).ok());
  }
}

// The names of the codecs say what the boxes of the header do.
TEST(SegmentMuxerTest, AWideRangeOfColoursIsInTheNameOfTheCodec) {
  const std::map<std::string, std::pair<std::string, std::string>> encoders{
      {"libvpx-vp9", {"vp09.00.", ".08.01.09.16.09.00"}},
      {"libsvtav1", {"av01.0.", "M.08.0.110.09.16.09.0"}}};
  for (const auto& [encoder, name] : encoders) {
    MuxTrack track =
        TrackOf(MakeVideo({.encoder = encoder.c_str(), .b_frames = 0, .width = 64, .height = 64}));
    EXPECT_THAT(*CodecString(InitOf(track)), EndsWith(encoder == "libsvtav1" ? "M.08" : ".08"));
    const std::shared_ptr<AVCodecParameters> wide(
        avcodec_parameters_alloc(), [](AVCodecParameters* p) { avcodec_parameters_free(&p); });
    ASSERT_GE(avcodec_parameters_copy(wide.get(), track.parameters.get()), 0);
    wide->color_primaries = AVCOL_PRI_BT2020;
    wide->color_trc = AVCOL_TRC_SMPTE2084;
    wide->color_space = AVCOL_SPC_BT2020_NCL;
    wide->color_range = AVCOL_RANGE_MPEG;
    track.parameters = wide;
    EXPECT_THAT(*CodecString(InitOf(track)), StartsWith(name.first));
    EXPECT_THAT(*CodecString(InitOf(track)), EndsWith(name.second));
  }
}

}  // namespace
}  // namespace gopmill::testing
