// SPDX-License-Identifier: Apache-2.0
//
// The mixes that the simulator and gopmill bench have by the same names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "scheduler/sim/experiment.h"
#include "scheduler/sim/transcode_workload.h"

namespace gopmill::sim {
namespace {

using ::testing::HasSubstr;

Workload Of(const std::string& mix, std::uint64_t seed = 1) {
  auto workload = MakeTranscodeWorkload({.mix = mix, .gops = 20, .seed = seed});
  EXPECT_TRUE(workload.ok()) << mix;
  return workload.ok() ? std::move(workload).value() : Workload{};
}

TEST(MixesTest, UnknownNamesAreRefusedWithTheKnownOnes) {
  const auto refused = FindMix("spicy");
  ASSERT_FALSE(refused.ok());
  for (const char* name : {"reference", "modern", "live", "bursty", "mixed", "small", "even"}) {
    EXPECT_TRUE(FindMix(name).ok()) << name;
    EXPECT_THAT(refused.error().accepted, HasSubstr(name));
  }
}

TEST(MixesTest, HaveAsManyStreamsAsThoseOfTheBench) {
  EXPECT_EQ(Of("reference").streams.size(), 20U);
  EXPECT_EQ(Of("live").streams.size(), 20U);
  EXPECT_EQ(Of("bursty").streams.size(), 20U);
  EXPECT_EQ(Of("modern").streams.size(), 8U);
}

TEST(MixesTest, LiveIsReferenceAtThePaceOfItsPictures) {
  const Workload reference = Of("reference");
  const Workload live = Of("live");
  EXPECT_EQ(live.feed, Feed::kOpen);
  ASSERT_EQ(live.units.size(), reference.units.size());
  for (std::size_t i = 0; i < live.units.size(); ++i) {
    EXPECT_EQ(live.units[i].hot_ms, reference.units[i].hot_ms);
  }
  for (const SimStream& stream : live.streams) {
    double shown_ms = 0;
    for (std::uint32_t i = 0; i < stream.unit_count; ++i) {
      const SimUnit& unit = live.units[stream.first_unit + i];
      const double length_ms = unit.frames * 500.0 / 15;
      shown_ms += length_ms;
      EXPECT_NEAR(unit.arrival_ms, shown_ms, 1e-6);
      EXPECT_NEAR(unit.deadline_ms, shown_ms + length_ms, 1e-6) << "due when the next one comes";
    }
  }
}

TEST(MixesTest, LiveUnitsOfAClassWithADeadlineAreDueByThat) {
  const auto workload =
      MakeTranscodeWorkload({.mix = "live", .classes = ParseClasses("a:5:0:0:100,b:1").value()});
  ASSERT_TRUE(workload.ok());
  for (const SimStream& stream : workload->streams) {
    const SimUnit& unit = workload->units[stream.first_unit];
    const double within = unit.deadline_ms - unit.arrival_ms;
    EXPECT_EQ(std::abs(within - 100) < 1e-9, stream.service_class == 0) << within;
  }
}

TEST(MixesTest, BurstyIsReferenceBeginningInBursts) {
  const Workload bursty = Of("bursty");
  EXPECT_EQ(bursty.feed, Feed::kClosed);
  EXPECT_EQ(bursty.streams.front().begin_ms, 0);
  EXPECT_GT(bursty.streams.back().begin_ms, 0);
  EXPECT_TRUE(std::ranges::is_sorted(bursty.streams, {}, &SimStream::begin_ms));
  std::multiset<double> begins;
  for (const SimStream& stream : bursty.streams) begins.insert(stream.begin_ms);
  for (const double begin : begins) EXPECT_LE(begins.count(begin), 5U);
  EXPECT_NE(Of("bursty", 2).streams.back().begin_ms, bursty.streams.back().begin_ms);
}

TEST(MixesTest, StreamsThatBeginLaterAreDoneAndNotBefore) {
  Experiment experiment;
  experiment.topology = "pu:64";
  experiment.mix = "bursty";
  experiment.gops = 10;
  auto prepared = Prepare(experiment);
  ASSERT_TRUE(prepared.ok()) << prepared.error().ToString();
  for (const char* policy : {"fifo", "hearth", "h-cahrw"}) {
    prepared->params.policy = policy;
    const auto result = Simulate(prepared->params, prepared->machine, prepared->workload);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->units, 200U);
    EXPECT_GT(result->makespan_ms, prepared->workload.streams.back().begin_ms);
    EXPECT_LT(result->max_latency_ms, prepared->workload.streams.back().begin_ms)
        << "latency counts from the begin of a stream";
  }
}

}  // namespace
}  // namespace gopmill::sim
