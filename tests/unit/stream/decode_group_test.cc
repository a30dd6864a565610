// SPDX-License-Identifier: Apache-2.0
#include "server/stream/decode_group.h"

#include <gtest/gtest.h>

#include "media/sound_choice.h"
#include "scheduler/scheduler.h"
#include "scheduler/topology_hwloc.h"
#include "server/stream/decode_table.h"

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

std::shared_ptr<const SourceInfo> WithTwoSounds() {
  auto info = std::make_shared<SourceInfo>();
  info->video.parameters = std::shared_ptr<AVCodecParameters>(
      avcodec_parameters_alloc(), [](AVCodecParameters* p) { avcodec_parameters_free(&p); });
  info->audio.emplace();
  info->more_audio.resize(1);
  return info;
}

StreamPlan PlanOf(const std::shared_ptr<const SourceInfo>& info, int sound, int width) {
  StreamPlan plan;
  plan.source = ChooseSounds(info, {.first = sound}).value().info;
  plan.target.width = width;
  plan.grid = OutputGrid({25, 1}, {25, 1}, {1, 25}, 0);
  return plan;
}

TEST(DecodeTable, ReadersOfOneSourceAreDecodedTogetherWhicheverSoundTheyHear) {
  DecodeTable table;
  const auto info = WithTwoSounds();
  const StreamPlan plan = PlanOf(info, 1, 640);
  const auto group = table.Find(plan, 0);
  EXPECT_EQ(table.Find(PlanOf(info, 1, 320), 0), group);
  EXPECT_EQ(table.Find(PlanOf(info, 2, 320), 0), group);
  const auto other = WithTwoSounds();
  EXPECT_NE(table.Find(PlanOf(other, 1, 640), 0), group) << "of another source";
}

}  // namespace
}  // namespace gopmill
