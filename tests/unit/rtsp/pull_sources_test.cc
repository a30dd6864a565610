// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/pull_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gopmill {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(PullSources, AreNamesAndUrls) {
  const auto sources = ParsePullSources("cam=rtsp://h/a?b=c,d  lobby=rtspu://u:p@h:1/x");
  ASSERT_TRUE(sources.ok());
  ASSERT_EQ(sources->size(), 2U);
  EXPECT_EQ((*sources)[0].name, "cam");
  EXPECT_EQ((*sources)[0].url, "rtsp://h/a?b=c,d");
  EXPECT_EQ((*sources)[1].url, "rtspu://u:p@h:1/x");
  EXPECT_TRUE(ParsePullSources("  ")->empty());
  EXPECT_FALSE(sources->front().always);
}

TEST(PullSources, OneAllOrNoneAreFetchedAlways) {
  const char* const text = "cam=rtsp://h/a lobby=rtsp://h/b door=rtsp://h/c";
  const auto always = [&](const char* pull) {
    const auto sources = ParsePullSources(text, pull);
    std::string names;
    for (const PullSource& source : *sources) {
      if (source.always) names += source.name + " ";
    }
    return names;
  };
  EXPECT_EQ(always("on-demand"), "");
  EXPECT_EQ(always("always"), "cam lobby door ");
  EXPECT_EQ(always("door"), "door ");
  EXPECT_EQ(always("lobby, cam"), "cam lobby ");
  for (const char* bad : {"", "gate", "cam,", "cam lobby", "cam,,door"}) {
    const auto refused = ParsePullSources(text, bad);
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_EQ(refused.error().parameter, "live.pull");
  }
}

TEST(PullSources, WrongOnesAreRefused) {
  for (const char* text : {"cam", "=rtsp://h/a", "cam=", "cam=rtsp://", "cam=http://h/a",
                           "cam=file:///etc/passwd", "a/b=rtsp://h", "a=rtsp://h a=rtsp://g"}) {
    EXPECT_EQ(ParsePullSources(text).error().code, Code::kInvalidArgument) << text;
  }
}

std::string Message(const char* text) { return ParsePullSources(text).error().ToString(); }

TEST(PullSources, TheMessageSaysWhichOneButNoPassword) {
  EXPECT_THAT(Message("cam=rtsp://h b+c=rtsp://u:pw@h"),
              AllOf(HasSubstr("sources"), HasSubstr("Source 2 (b+c) cannot be the name")));
  EXPECT_THAT(Message("secret"), AllOf(HasSubstr("Source 1 is"), Not(HasSubstr("secret"))));
  EXPECT_THAT(Message("cam=rtsp://h b=rtp://u:pw@h"), HasSubstr("Source 2 (b) is not understood"));
  EXPECT_THAT(Message("cam=rtsps://u:pw@h"),
              AllOf(HasSubstr("Source 1 (cam)"), HasSubstr("TLS"), HasSubstr("rtspt://")));
  for (const char* text : {"rtsp://u:pw@h/?x=rtsp://h", "b=rtsp://u:p/pw@h", "b=rtp://u:pw@h",
                           "=rtsp://u:pw@h", "rtsp://h/pw=1", "a=rtsp://h a=rtsp://u:pw@h"}) {
    EXPECT_THAT(Message(text), Not(HasSubstr("pw"))) << text;
  }
}

// GStreamer takes the slash as the end of the host, and what is left of the password as the path.
TEST(PullSources, PasswordsHaveNoSlashes) {
  EXPECT_THAT(Message("cam=rtsp://u:p/w@host/x"), HasSubstr("%2F"));
  EXPECT_THAT(Message("cam=rtsp://host/a@b"), HasSubstr("%40"));
  EXPECT_TRUE(ParsePullSources("cam=rtsp://u:p%2Fw@host/a@b").ok());
}

// They are asked again for ever, and each time it looks like a fault of the network.
TEST(PullSources, SomebodyCanBeThere) {
  for (const char* host : {"u:p@", ":554", "h:0", "h:65536", "h:99999999999", "h:", "h:x", "h:1x",
                           "[::1", "[]", "[::1]x", "[::1]:0", "::1"}) {
    const std::string text = "cam=rtsp://" + std::string(host) + "/x";
    EXPECT_THAT(Message(text.c_str()), HasSubstr("65535")) << text;
  }
  for (const char* host :
       {"h", "h:1", "u:p@h:65535", "10.0.0.1:554", "[::1]", "[fe80::1%25eth0]:554", "u@[::1]:1"}) {
    EXPECT_TRUE(ParsePullSources("cam=rtsp://" + std::string(host) + "/x").ok()) << host;
  }
}

TEST(PullSources, LogsShowThePeerAlone) {
  EXPECT_EQ(PeerOf("rtsp://user:secret@host:554/a@b"), "rtsp://host:554");
  EXPECT_EQ(PeerOf("rtspu://host/user=admin&password=secret"), "rtspu://host");
  EXPECT_EQ(PeerOf("rtsp://[::1]:554?user=a&pwd=secret"), "rtsp://[::1]:554");
  EXPECT_EQ(PeerOf("rtsp://u@host"), "rtsp://host");
}

}  // namespace
}  // namespace gopmill
