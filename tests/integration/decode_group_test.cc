// SPDX-License-Identifier: Apache-2.0
//
// Renditions of one source that are decoded together make the same bytes as each on its own, and
// none waits for one that has left.
#include "server/stream/decode_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>

#include "server/live/packet_tee.h"
#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;

const std::vector<std::string> kLadder = {
    "width=256 height=144 bitrate=300k maxrate=500k bufsize=500k preset=ultrafast acodec=none",
    "width=192 height=108 bitrate=150k preset=ultrafast acodec=none",
    "width=128 height=72 crf=30 preset=ultrafast acodec=none",
};
constexpr const char* kHalfSecondUnits = " unit=0.5 duration=4";

struct LadderCase {
  const char* movie;
  bool whole_units;  // or pieces, since the tee is a live source
};

// The streams of a ladder, which read one source.
class Ladder {
 public:
  Ladder(Engine& engine, const LadderCase& wanted, std::shared_ptr<DecodeGroup> group,
         const OnWrite& first_on_write = {})
      : tee_(std::make_shared<PacketTee>(OpenMovie(wanted.movie), kLadder.size(),
                                         std::make_shared<LiveClock>())) {
    for (std::size_t i = 0; i < kLadder.size(); ++i) {
      streams_.push_back(std::make_unique<TestStream>(
          engine, i, wanted.movie, kLadder[i] + kHalfSecondUnits,
          i == 0 ? first_on_write : OnWrite(), [&](SessionSpec& spec) {
            spec.group = group;
            spec.member = i;
            spec.request.whole_units = wanted.whole_units;
            spec.limits.window_units = 2;  // later units are planned when earlier ones are done
            spec.open_packets = [tee = tee_, i](const std::stop_token& stop) {
              return tee->Open(i, stop);
            };
          }));
    }
  }
  StreamSession& session(std::size_t i) { return streams_[i]->session(); }
  std::vector<Outcome> Finish() {
    std::vector<Outcome> outcomes;
    for (auto& stream : streams_) outcomes.push_back(stream->Finish());
    return outcomes;
  }

 private:
  std::shared_ptr<PacketTee> tee_;
  std::vector<std::unique_ptr<TestStream>> streams_;
};

std::vector<std::uint64_t> Hashes(const std::vector<Outcome>& outcomes) {
  std::vector<std::uint64_t> hashes;
  for (const Outcome& outcome : outcomes) hashes.push_back(HashOf(outcome.bytes));
  return hashes;
}

std::vector<StreamState> States(const std::vector<Outcome>& outcomes) {
  std::vector<StreamState> states;
  for (const Outcome& outcome : outcomes) states.push_back(outcome.snapshot.state);
  return states;
}

// Closed GOPs, runs of chained units, open GOPs.
class DecodeGroupTest : public testing::TestWithParam<LadderCase> {
 protected:
  std::unique_ptr<Engine> engine = MakeEngine("hearth", 2);
};

TEST_P(DecodeGroupTest, OneDecodeMakesTheSameBytes) {
  const auto alone = Ladder(*engine, GetParam(), nullptr).Finish();
  ASSERT_THAT(States(alone), Each(StreamState::kDone));
  const auto group = std::make_shared<DecodeGroup>(kLadder.size(), 1000.0);  // never divided
  const auto together = Ladder(*engine, GetParam(), group).Finish();
  EXPECT_THAT(States(together), Each(StreamState::kDone));
  EXPECT_THAT(Hashes(together), ElementsAreArray(Hashes(alone)));
  const StreamSnapshot& first = together.front().snapshot;
  EXPECT_EQ(first.decoded_elsewhere, 0);
  EXPECT_EQ(first.selection.decoded, alone.front().snapshot.selection.decoded);
  for (std::size_t i = 1; i < together.size(); ++i) {
    const StreamSnapshot& other = together[i].snapshot;
    EXPECT_EQ(other.decoded_elsewhere, other.units_done);
    EXPECT_EQ(other.selection.decoded, 0);
    EXPECT_GT(other.stages.cpu.count(), 0);
  }
}

TEST_P(DecodeGroupTest, DividedWhereOneWorkerIsNotEnoughAndTheSameBytes) {
  const auto alone = Ladder(*engine, GetParam(), nullptr).Finish();
  const auto group = std::make_shared<DecodeGroup>(kLadder.size(), 0.0);  // as soon as it can be
  const auto divided = Ladder(*engine, GetParam(), group).Finish();
  EXPECT_THAT(States(divided), Each(StreamState::kDone));
  EXPECT_THAT(Hashes(divided), ElementsAreArray(Hashes(alone)));
  if (GetParam().movie != std::string_view("ref-talk.mpg")) return;
  // Each GOP begins a run, and there are two workers: the largest decodes for itself.
  EXPECT_GT(divided[0].snapshot.selection.decoded, 0);
  EXPECT_GT(divided[1].snapshot.selection.decoded, 0);
  EXPECT_GT(divided[1].snapshot.decoded_elsewhere, 0) << "from the start they were together";
  EXPECT_EQ(divided[2].snapshot.selection.decoded, 0) << "not a third part";
}

TEST_P(DecodeGroupTest, NobodyWaitsForAStreamThatWasCancelled) {
  const auto alone = Ladder(*engine, GetParam(), nullptr).Finish();
  std::atomic<Ladder*> running = nullptr;
  Ladder ladder(*engine, GetParam(), std::make_shared<DecodeGroup>(kLadder.size()),
                [&](std::span<const std::uint8_t>) {
                  running.wait(nullptr);
                  running.load()->session(1).Cancel();
                  return OkStatus();
                });
  running = &ladder;
  running.notify_all();
  const auto outcomes = ladder.Finish();  // ends
  EXPECT_THAT(States(outcomes),
              ElementsAre(StreamState::kDone, StreamState::kCancelled, StreamState::kDone));
  EXPECT_EQ(HashOf(outcomes[0].bytes), HashOf(alone[0].bytes));
  EXPECT_EQ(HashOf(outcomes[2].bytes), HashOf(alone[2].bytes));
  EXPECT_EQ(engine->scheduler().Stats().waiting_units, 0U);
}

// Holds its worker until the test lets go.
class HoldingJob : public Job {
 public:
  HoldingJob(std::latch& begun, std::latch& gate) : begun_(begun), gate_(gate) {}
  JobOutcome Run(WorkerContext& /*worker*/) noexcept override {
    begun_.count_down();
    gate_.wait();
    return JobOutcome::kDone;
  }
  void OnReport(const JobReport& /*report*/) noexcept override {}

 private:
  std::latch& begun_;
  std::latch& gate_;
};

// Else the streams would hold their places until a worker has come to each.
TEST(DecodeGroup, TakesJobsBackWhenAllWhoShareThemHaveLeft) {
  const LiveUnits cut = LiveUnitsOf("ref-talk.mpg", kLadder[1] + kHalfSecondUnits);
  std::latch begun(1), gate(1);
  const auto engine = MakeEngine("hearth", 1);
  Scheduler& scheduler = engine->scheduler();
  const JobSpec holding{.unit = {StreamId{77}, UnitIndex{0}}, .cost_bytes = 1};
  ASSERT_TRUE(scheduler.Submit(holding, std::make_unique<HoldingJob>(begun, gate)).ok());
  begun.wait();
  const auto group = std::make_shared<DecodeGroup>(2);
  const UnitInput& unit = *cut.units.front();
  std::vector<std::shared_ptr<Mailbox>> mailboxes;
  for (std::size_t i = 0; i < 2; ++i) group->Announce(i, *cut.plan, unit.spec, 1);
  for (std::size_t i = 0; i < 2; ++i) {
    mailboxes.push_back(std::make_shared<Mailbox>(std::size_t{1} << 20U, 4));
    const StreamId stream{i};
    group->Submit(
        i, {.unit = {stream, unit.spec.index}, .cost_bytes = unit.bytes()},
        {.stream = stream,
         .task = {.plan = cut.plan, .encoder = cut.encoder, .input = cut.units.front(), .run = {}},
         .mailbox = mailboxes.back(),
         .stop = {}},
        scheduler);
  }
  for (std::size_t i = 0; i < 2; ++i) group->Leave(i, scheduler);
  for (const auto& mailbox : mailboxes) {
    const auto letter = mailbox->Take(std::chrono::seconds(20));
    const auto* ended = letter ? std::get_if<UnitEnded>(&*letter) : nullptr;
    EXPECT_TRUE(ended != nullptr && ended->report.outcome == JobOutcome::kCancelled);
  }
  gate.count_down();
}

INSTANTIATE_TEST_SUITE_P(
    Sources, DecodeGroupTest,
    testing::Values(LadderCase{"ref-talk.mpg", true}, LadderCase{"modern-720p.mp4", true},
                    LadderCase{"open-gop-480p.ts", true}, LadderCase{"ref-talk.mpg", false},
                    LadderCase{"modern-720p.mp4", false}, LadderCase{"open-gop-480p.ts", false}),
    [](const auto& source) {
      std::string name = source.param.movie;
      std::erase_if(name, [](char c) { return std::isalnum(c) == 0; });
      return name + (source.param.whole_units ? "" : "InPieces");
    });

}  // namespace
}  // namespace gopmill::test
