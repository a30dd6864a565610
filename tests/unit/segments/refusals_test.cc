// SPDX-License-Identifier: Apache-2.0
//
// Who comes while the server ends is told so, and not that there are too many.
#include "server/session/refusals.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "scheduler/scheduler.h"
#include "scheduler/topology_hwloc.h"
#include "server/session/live_hub.h"
#include "server/session/live_segments.h"

namespace gopmill {
namespace {

TEST(Refusals, APublisherHearsThatTheServerEnds) {
  LiveHub hub;
  hub.Stop();
  const Status status = hub.Publish("news", "somewhere", {}, {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kUnavailable);
  EXPECT_EQ(status.error().message, ShuttingDown().message);
}

TEST(Refusals, APlayerOfALiveSourceHearsThatTheServerEnds) {
  auto scheduler = Scheduler::Create({.workers = 1}, DiscoverTopology({}).value(), {});
  ASSERT_TRUE(scheduler.ok());
  LiveSegments segments({}, **scheduler, {});
  segments.Stop();
  std::string told;
  segments.Open({.path = "live/news", .name = "master.m3u8", .params = {}, .if_none_match = {}},
                [&](const Result<MediaPart>& part) { told = part.error().message; });
  EXPECT_EQ(told, ShuttingDown().message);
}

}  // namespace
}  // namespace gopmill
