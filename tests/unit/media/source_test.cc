// SPDX-License-Identifier: Apache-2.0
#include "media/source.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "media/decoder_table.h"

namespace gopmill {
namespace {

TEST(Source, RefusesADescriptorThatIsNotOpen) {
  EXPECT_FALSE(Source::Open(UniqueFd(), {}).ok()) << "and does not wait for it";
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  const auto unreadable = Source::Open(UniqueFd(ends[1]), {});
  ASSERT_FALSE(unreadable.ok()) << "an end that is only written to";
  EXPECT_FALSE(unreadable.error().message.empty());
}

TEST(DecoderTable, TakesWhatItNamesAndNothingElse) {
  for (const char* name : {"mpeg1video", "mpeg2video", "mpeg4", "h264", "hevc", "vp8", "vp9", "av1",
                           "mjpeg", "prores", "dvvideo", "theora", "rawvideo", "msmpeg4v2",
                           "msmpeg4v3", "wmv1", "wmv2", "h263", "flv1"}) {
    EXPECT_TRUE(SourceCodecAllowed(TrackKind::kVideo, name)) << name;
    const AVCodec* decoder = FindSourceDecoder(TrackKind::kVideo, name);
    ASSERT_NE(decoder, nullptr) << name;
    EXPECT_NE(("," + DecoderWhitelist() + ",").find("," + std::string(decoder->name) + ","),
              std::string::npos);
  }
  EXPECT_FALSE(SourceCodecAllowed(TrackKind::kVideo, "exr"));
  EXPECT_FALSE(SourceCodecAllowed(TrackKind::kVideo, ""));
  EXPECT_FALSE(SourceCodecAllowed(TrackKind::kVideo, "aac"));
  EXPECT_TRUE(SourceCodecAllowed(TrackKind::kAudio, "aac"));
  EXPECT_TRUE(SourceCodecAllowed(TrackKind::kAudio, "pcm_s16le"));
  EXPECT_TRUE(SourceCodecAllowed(TrackKind::kAudio, "wmav2"));
  EXPECT_FALSE(SourceCodecAllowed(TrackKind::kAudio, "wmavoice"));
}

}  // namespace
}  // namespace gopmill
