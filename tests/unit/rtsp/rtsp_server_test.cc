// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/rtsp_server.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/http/fake_service.h"

namespace gopmill {
namespace {

// Of a start that fails because of something behind RTSP: the thread may not have got far by then.
TEST(RtspServer, CanBeStoppedAsSoonAsItHasStarted) {
  FakeService service;
  RtspOptions options;
  options.port = 0;
  for (int i = 0; i < 200; ++i) {
    const auto server = RtspServer::Start(options, service);
    ASSERT_TRUE(server.ok()) << server.error().ToString();
    EXPECT_GT((*server)->port(), 0);
  }
}

}  // namespace
}  // namespace gopmill
