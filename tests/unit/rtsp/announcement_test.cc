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

// Of a peer that is fetched from.
Result<Announcement> Read(const std::string& medias) {
  const std::string text = "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=x\r\nt=0 0\r\n" + medias;
  GstSDPMessage* sdp = nullptr;
  gst_sdp_message_new_from_text(text.c_str(), &sdp);
  auto announcement = ReadAnnouncement(*sdp);
  gst_sdp_message_free(sdp);
  return announcement;
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

TEST(Announcement, NamesSoundThatCannotBeUsed) {
  const auto announcement =
      Parse(std::string(kVideo) + "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 G726-32/8000\r\n");
  ASSERT_TRUE(announcement.ok()) << announcement.error().ToString();
  EXPECT_THAT(announcement->unusable, ElementsAre("audio of G726-32"));
  EXPECT_THAT(announcement->unusable_audio, ElementsAre("G726-32"));
}

// Cameras describe more than pictures and sound, and nobody can make them stop.
TEST(Announcement, LeavesOutWhatAPeerCannotBeFetchedWith) {
  const std::string medias =
      "m=application 0 RTP/AVP/TCP 107\r\na=rtpmap:107 vnd.onvif.metadata/90000\r\n" +
      std::string(kVideo) + "m=application 0 RTP/AVP 98\r\na=rtpmap:98 x/500000\r\n" +
      "m=video 0 RTP/AVPF 99\r\na=rtpmap:99 H264/90000\r\n"
      "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 MPEG4-GENERIC/48000/2\r\n"
      "a=fmtp:97 sizelength=33\r\n";
  const auto announcement = Read(medias);
  ASSERT_TRUE(announcement.ok()) << announcement.error().ToString();
  EXPECT_THAT(announcement->streams, ElementsAre(IsVideo(1U)));
  EXPECT_THAT(announcement->unusable,
              ElementsAre(HasSubstr("application of VND.ONVIF.METADATA (A stream is not RTP/AVP"),
                          HasSubstr("application of X (A stream's"),
                          HasSubstr("video of H264 (A stream is not RTP/AVP"),
                          HasSubstr("audio of MPEG4-GENERIC (A stream's ")));
  EXPECT_THAT(announcement->unusable_audio, ElementsAre("MPEG4-GENERIC"));
  EXPECT_EQ(Parse(medias).error().code, Code::kInvalidArgument) << "of a publisher";
}

TEST(Announcement, APeerNeedsPicturesThatCanBeUsed) {
  const auto announcement = Read("m=video 0 RTP/AVPF 99\r\na=rtpmap:99 H264/90000\r\n");
  EXPECT_EQ(announcement.error().code, Code::kUnsupported);
  EXPECT_THAT(announcement.error().message, HasSubstr("video of H264 (A stream is not RTP/AVP"));
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

std::string Sound(const std::string& encoding, const std::string& rest = "") {
  return "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 " + encoding + "\r\n" + rest;
}

TEST(Announcement, TakesTheNumbersThatThereAre) {
  for (const std::string& sound :
       {Sound("L16/44100/2"), Sound("L16/8000"), Sound("L16/384000/8"), Sound("OPUS/48000/2"),
        Sound("MPA/90000"), Sound("AC3/48000/6"),
        Sound("MPEG4-GENERIC/48000/2",
              "a=fmtp:97 streamtype=5;profile-level-id=1;mode=AAC-hbr;sizelength=13;indexlength=3;"
              "indexdeltalength=3;config=1190\r\n"),
        Sound("MP4A-LATM/44100/2", "a=fmtp:97 cpresent=0;config=400024203fc0\r\n")}) {
    const auto announcement = Parse(kVideo + sound);
    ASSERT_TRUE(announcement.ok()) << sound << announcement.error().ToString();
    EXPECT_EQ(announcement->streams.size(), 2U) << sound;
  }
}

TEST(Announcement, RefusesNumbersThatElementsWouldComeToHarmBy) {
  const std::string aac = "MPEG4-GENERIC/48000/2";
  const std::string jpeg = "m=video 0 RTP/AVP 98\r\na=rtpmap:98 JPEG/90000\r\n";
  for (const std::string& medias :
       {kVideo + Sound("L16/44100/200"), kVideo + Sound("L16/44100/9"),
        kVideo + Sound("L16/44100/0"), kVideo + Sound("L16/44100/-1"),
        kVideo + Sound("L16/44100/99999999999999999999"), kVideo + Sound("L16/44100/x"),
        kVideo + Sound("L16/44100", "a=fmtp:97 channels=200\r\n"), kVideo + Sound("L16/999/2"),
        kVideo + Sound("L16/384001/2"), kVideo + Sound("OPUS/48000/65"),
        kVideo + Sound("G729/2147483647"), kVideo + Sound(aac, "a=fmtp:97 sizelength=33\r\n"),
        kVideo + Sound(aac, "a=fmtp:97 indexlength=-1\r\n"),
        kVideo + Sound(aac, "a=fmtp:97 constantduration=2147483647\r\n"),
        kVideo + Sound(aac, "a=fmtp:97 auxiliarydatasizelength=8\r\n"),
        kVideo + Sound(aac, "a=fmtp:97 config=" + std::string(9000, 'f') + "\r\n"),
        jpeg + "a=fmtp:98 x-dimensions=16385,16\r\n", jpeg + "a=framerate:nan\r\n",
        jpeg + "a=framerate:-1\r\n", jpeg + "a=framerate:1e300\r\n",
        std::string("m=video 0 RTP/AVP 96\r\na=rtpmap:96 VP8/2147483647\r\n"),
        // A format that is not the first of its stream may be sent, too.
        kVideo + std::string("m=audio 0 RTP/AVP 97 98\r\na=rtpmap:97 L16/44100/2\r\n"
                             "a=rtpmap:98 L16/44100/200\r\n"),
        // L16 in a stream of pictures is L16.
        kVideo + std::string("m=video 0 RTP/AVP 97\r\na=rtpmap:97 L16/44100/200\r\n")}) {
    const auto announcement = Parse(medias);
    ASSERT_FALSE(announcement.ok()) << medias;
    EXPECT_EQ(announcement.error().code, Code::kInvalidArgument) << medias;
    EXPECT_THAT(announcement.error().message, HasSubstr("A stream's ")) << medias;
  }
}

}  // namespace
}  // namespace gopmill
