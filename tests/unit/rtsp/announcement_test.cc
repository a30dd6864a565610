// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/announcement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace gopmill {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<Announcement> Parse(const std::string& medias) {
  const std::string sdp = "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=x\r\nt=0 0\r\n" + medias;
  return ParseAnnouncement({reinterpret_cast<const std::uint8_t*>(sdp.data()), sdp.size()});
}

constexpr const char* kVideo = "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n";

MATCHER_P3(IsSound, number, language, title, "") {
  return arg.receiver.kind == TrackKind::kAudio && arg.number == number &&
         arg.language == language && arg.title == title;
}
MATCHER_P(IsVideo, number, "") {
  return arg.receiver.kind == TrackKind::kVideo && arg.number == number;
}

TEST(Announcement, UsesTheFirstPicturesAndAllSoundThatCanBe) {
  const auto announcement =
      Parse("m=audio 0 RTP/AVP 0\r\ni=Commentary\r\na=lang:de\r\n" + std::string(kVideo) +
            "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 G729/8000\r\n" + kVideo +
            "m=audio 0 RTP/AVP 98\r\na=rtpmap:98 opus/48000/2\r\n");
  ASSERT_TRUE(announcement.ok()) << announcement.error().ToString();
  EXPECT_THAT(announcement->streams,
              ElementsAre(IsSound(0U, "de", "Commentary"), IsVideo(1U), IsSound(4U, "", "")));
  // What is not used is set up as well, since a publisher sends it, and thrown away.
  EXPECT_THAT(announcement->description, HasSubstr("name=depay2 ! fakesink"));
  EXPECT_THAT(announcement->description, HasSubstr("name=depay3 ! fakesink"));
}

TEST(Announcement, SoundAloneIsNoStream) {
  EXPECT_EQ(Parse("m=audio 0 RTP/AVP 0\r\n").error().code, Code::kUnsupported);
}

TEST(Announcement, HasALimit) {
  std::string sounds;
  for (unsigned i = 1; i < kMaxAnnouncedStreams; ++i) sounds += "m=audio 0 RTP/AVP 0\r\n";
  const auto most = Parse(kVideo + sounds);
  ASSERT_TRUE(most.ok());
  EXPECT_EQ(most->streams.size(), kMaxAnnouncedStreams);
  EXPECT_EQ(Parse(kVideo + sounds + "m=audio 0 RTP/AVP 0\r\n").error().code,
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace gopmill
