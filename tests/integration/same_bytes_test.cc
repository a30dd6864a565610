// SPDX-License-Identifier: Apache-2.0
//
// The same request gives the same bytes, whatever the scheduler, the number of workers, the warmth
// of the caches and the CPU.
#include <gtest/gtest.h>

extern "C" {
#include <libavutil/cpu.h>
}

#include "scheduler/policy_registry.h"
#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

// One source of each kind of cut: closed GOPs merged, open GOPs with preroll, long GOPs chained.
// The last four have so many units that most have learnt from those before them
// (codec/stream_rate.h).
struct Case {
  const char* name;
  const char* movie;
  const char* params;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

const Case kCases[] = {
    {"ClosedGops", "ref-street.mpg",
     "width=176 height=144 fit=stretch fps=15 bitrate=70k duration=12"},
    {"OpenGops", "open-gop-480p.ts", "width=320 bitrate=200k duration=18"},
    {"VariableFrameRate", "vfr-540p.mkv", "width=240 bitrate=150k fps=30 container=ts duration=8"},
    {"LongGops", "modern-720p.mp4", "width=320 bitrate=200k duration=7 start=3.3"},
    {"ManyOfLongGops", "modern-720p.mp4", "width=160 bitrate=60k duration=16 start=3.3 unit=1"},
    {"GopUnits", "ref-talk.mpg", "width=128 height=96 fps=15 bitrate=50k unit=gop duration=10"},
    {"Vbv", "ref-street.mpg",
     "width=176 bitrate=100k maxrate=130k duration=20 unit=gop acodec=none"},
    {"Mpeg4", "ref-talk.mpg", "width=128 bitrate=60k vcodec=mpeg4 duration=18 unit=1"},
};

class SameBytes : public testing::TestWithParam<Case> {};

std::uint64_t HashOfRun(const Case& c, const std::string& policy, int workers) {
  const auto engine = MakeEngine(policy, workers);
  const Outcome outcome = RunStream(*engine, c.movie, c.params);
  EXPECT_EQ(outcome.snapshot.state, StreamState::kDone)
      << (outcome.snapshot.error ? outcome.snapshot.error->ToString() : "");
  EXPECT_EQ(outcome.snapshot.frames_out, outcome.snapshot.frames_planned);
  EXPECT_GT(outcome.bytes.size(), 1000U);
  return HashOf(outcome.bytes);
}

// One policy of each kind: gopmill's own, the tree, early binding without a look at queues, shares.
// How hard the encoder tries has no part in it.
TEST_P(SameBytes, WithAnyNumberOfWorkers) {
  const std::string params = std::string(GetParam().params) + " preset=ultrafast";
  const Case quick{GetParam().name, GetParam().movie, params.c_str()};
  const std::uint64_t expected = HashOfRun(quick, "fifo", 1);
  for (const char* policy : {"hearth", "h-cahrw", "rr", "ps-hrw"}) {
    for (const int workers : {1, 2, 8}) {
      EXPECT_EQ(HashOfRun(quick, policy, workers), expected)
          << policy << " with " << workers << " workers";
    }
  }
}

// Sixteen units: enough for eight workers, and for some to have learnt from those before them. Tiny
// pictures, because there are so many runs.
TEST(SameBytesTest, UnderEveryPolicyWithAnyNumberOfWorkers) {
  const Case units{"TinyUnits", "ref-talk.mpg",
                   "width=64 height=48 fit=stretch fps=10 bitrate=30k preset=ultrafast unit=gop "
                   "acodec=none duration=8"};
  const std::uint64_t expected = HashOfRun(units, "fifo", 1);
  for (const PolicyEntry& policy : Policies()) {
    for (const int workers : {1, 2, 8}) {
      EXPECT_EQ(HashOfRun(units, std::string(policy.name), workers), expected)
          << policy.name << " with " << workers << " workers";
    }
  }
}

// Their units learn from those before them too. One policy, as they are slow to encode.
TEST(SameBytesTest, OfAv1AndVp9WithAnyNumberOfWorkers) {
  for (const std::string codec : {"av1", "vp9"}) {
    const std::string params =
        "width=64 height=64 fit=stretch fps=10 bitrate=30k preset=ultrafast unit=gop acodec=none "
        "container=mkv duration=8 vcodec=" +
        codec;
    const Case units{"TinyUnits", "ref-talk.mpg", params.c_str()};
    const std::uint64_t expected = HashOfRun(units, "fifo", 1);
    for (const int workers : {2, 8}) {
      EXPECT_EQ(HashOfRun(units, "hearth", workers), expected)
          << codec << " with " << workers << " workers";
    }
  }
}

TEST_P(SameBytes, WithColdAndWarmContexts) {
  const auto engine = MakeEngine("h-cahrw", 2);
  const Outcome cold = RunStream(*engine, GetParam().movie, GetParam().params);
  const Outcome warm = RunStream(*engine, GetParam().movie, GetParam().params);
  EXPECT_EQ(HashOf(cold.bytes), HashOf(warm.bytes));
  EXPECT_GT(engine->cache_stats().filter_hits, 0);
}

TEST_P(SameBytes, OnAnyCpu) {
  const std::uint64_t expected = HashOfRun(GetParam(), "h-cahrw", 2);
  // Codecs choose their loops when a context is opened: nothing may be open while this changes.
  for (const int flags :
       {0, AV_CPU_FLAG_MMX | AV_CPU_FLAG_MMXEXT | AV_CPU_FLAG_SSE | AV_CPU_FLAG_SSE2}) {
    av_force_cpu_flags(flags);
    EXPECT_EQ(HashOfRun(GetParam(), "h-cahrw", 2), expected) << "CPU flags " << flags;
  }
  av_force_cpu_flags(-1);
}

INSTANTIATE_TEST_SUITE_P(Sources, SameBytes, testing::ValuesIn(kCases),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace gopmill::test
