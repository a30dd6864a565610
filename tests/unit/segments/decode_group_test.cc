// SPDX-License-Identifier: Apache-2.0
#include "server/session/decode_group.h"

#include <gtest/gtest.h>

#include "scheduler/scheduler.h"
#include "scheduler/topology_hwloc.h"

namespace gopmill {
namespace {

TEST(DecodeGroup, RemembersNoMorePartsWhileReadersComeAndGo) {
  auto scheduler = Scheduler::Create({.workers = 1}, DiscoverTopology({}).value(), {});
  ASSERT_TRUE(scheduler.ok());
  const auto group = DecodeGroup::OfReaders(kGroupPatience);
  group->Join();  // stays, so that the group does
  StreamPlan plan;
  plan.grid = OutputGrid({25, 1}, {25, 1}, {1, 25}, 0);
  UnitSpec unit;
  for (int i = 0; i < 1000; ++i) {
    const std::size_t reader = group->Join();
    for (int gop = 0; gop < 2; ++gop) {  // takes part from the second on, on its own
      unit.first_frame = unit.end_frame;
      unit.end_frame += 25;
      group->Announce(reader, plan, unit, 2);
    }
    group->Leave(reader, **scheduler);
  }
  EXPECT_LE(group->part_count(), 2U);
}

}  // namespace
}  // namespace gopmill
