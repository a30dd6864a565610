// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/pull_sources.h"

#include <gtest/gtest.h>

namespace gopmill {
namespace {

TEST(PullSources, AreNamesAndUrls) {
  const auto sources = ParsePullSources("cam=rtsp://h/a?b=c,d  lobby=rtspu://u:p@h:1/x");
  ASSERT_TRUE(sources.ok());
  ASSERT_EQ(sources->size(), 2U);
  EXPECT_EQ((*sources)[0].name, "cam");
  EXPECT_EQ((*sources)[0].url, "rtsp://h/a?b=c,d");
  EXPECT_EQ((*sources)[1].url, "rtspu://u:p@h:1/x");
  EXPECT_TRUE(ParsePullSources("  ")->empty());
}

TEST(PullSources, WrongOnesAreRefused) {
  for (const char* text : {"cam", "=rtsp://h/a", "cam=", "cam=rtsp://", "cam=http://h/a",
                           "cam=file:///etc/passwd", "a/b=rtsp://h", "a=rtsp://h a=rtsp://g"}) {
    EXPECT_EQ(ParsePullSources(text).error().code, Code::kInvalidArgument) << text;
  }
}

TEST(PullSources, TheMessageHasABadNameButNoPassword) {
  const std::string message = ParsePullSources("cam=rtsp://h a/b=rtsp://u:pw@h").error().ToString();
  EXPECT_NE(message.find("'a/b' cannot be the name"), std::string::npos) << message;
  EXPECT_NE(message.find("sources"), std::string::npos) << message;
  const std::string without = ParsePullSources("rtsp://u:pw@h/?x=rtsp://h").error().ToString();
  EXPECT_EQ(without.find("pw"), std::string::npos) << without;
}

TEST(PullSources, LogsDoNotShowPasswords) {
  EXPECT_EQ(PublicUrl("rtsp://user:secret@host:554/a@b"), "rtsp://host:554/a@b");
  EXPECT_EQ(PublicUrl("rtsp://host/a@b"), "rtsp://host/a@b");
  EXPECT_EQ(PublicUrl("rtsp://u@host"), "rtsp://host");
}

}  // namespace
}  // namespace gopmill
