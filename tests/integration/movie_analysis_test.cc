// SPDX-License-Identifier: Apache-2.0
//
// quality=best measures a movie that can be read twice before it cuts the first unit.
#include "server/stream/movie_analysis.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

constexpr const char* kBest =
    "width=128 height=96 fit=stretch bitrate=80k quality=best preset=ultrafast duration=12 unit=1 "
    "acodec=none";

SourceOpener FileOf(const std::string& movie) {
  return [path = MoviePath(movie)]() -> Result<UniqueFd> {
    return UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  };
}

Outcome RunBest(Engine& engine, const SourceOpener& again, const std::string& more = "") {
  TestStream stream(engine, 0, "ref-patterns.mpg", kBest + more, {},
                    [&](SessionSpec& spec) { spec.open_again = again; });
  return stream.Finish();
}

TEST(MovieAnalysis, TheSameBytesWhateverThePolicyAndTheWorkers) {
  std::uint64_t expected = 0;
  for (const auto& [policy, workers] :
       {std::pair{"fifo", 1}, std::pair{"hearth", 2}, std::pair{"ps-hrw", 8}}) {
    const auto engine = MakeEngine(policy, workers);
    const Outcome outcome = RunBest(*engine, FileOf("ref-patterns.mpg"));
    ASSERT_EQ(outcome.snapshot.state, StreamState::kDone) << outcome.snapshot.error->ToString();
    EXPECT_EQ(outcome.snapshot.frames_analysed, outcome.snapshot.frames_planned);
    EXPECT_EQ(outcome.snapshot.frames_out, outcome.snapshot.frames_planned);
    EXPECT_GT(outcome.snapshot.stages.analysis, Duration::zero());
    if (expected == 0) expected = HashOf(outcome.bytes);
    EXPECT_EQ(HashOf(outcome.bytes), expected) << policy;
  }
  const auto engine = MakeEngine("fifo", 2);
  const Outcome once = RunBest(*engine, {});
  EXPECT_EQ(once.snapshot.frames_analysed, 0) << "a source that can be read once only";
  EXPECT_NE(HashOf(once.bytes), expected);
}

TEST(MovieAnalysis, KeepsTheRateAndTheCap) {
  const auto engine = MakeEngine("hearth", 2);
  const Outcome outcome = RunBest(*engine, FileOf("ref-patterns.mpg"), " maxrate=120k");
  ASSERT_EQ(outcome.snapshot.state, StreamState::kDone);
  EXPECT_EQ(outcome.snapshot.vbv_violations, 0);
  const double bps =
      8.0 * static_cast<double>(outcome.snapshot.video_bytes) / outcome.snapshot.out_seconds();
  EXPECT_NEAR(bps / 80'000, 1, 0.05);
}

// The file was replaced meanwhile: what was measured fits no unit, so they get their own budgets.
TEST(MovieAnalysis, AMovieThatChangesIsDeliveredWholeAllTheSame) {
  const auto engine = MakeEngine("hearth", 2);
  const Outcome outcome = RunBest(*engine, FileOf("vfr-540p.mkv"));
  EXPECT_EQ(outcome.snapshot.state, StreamState::kDone);
  EXPECT_EQ(outcome.snapshot.frames_out, outcome.snapshot.frames_planned);
}

TEST(MovieAnalysis, ASourceThatCannotBeReadAgainEndsTheStreamWithThatError) {
  const auto engine = MakeEngine("hearth", 2);
  const Outcome outcome = RunBest(*engine, []() -> Result<UniqueFd> {
    return Error{.code = Code::kNotFound, .message = "It was removed."};
  });
  EXPECT_EQ(outcome.snapshot.state, StreamState::kFailed);
  ASSERT_TRUE(outcome.snapshot.error.has_value());
  EXPECT_EQ(outcome.snapshot.error->message, "It was removed.");
}

TEST(MovieAnalysis, CanBeCancelled) {
  const auto engine = MakeEngine("hearth", 2);
  TestStream stream(*engine, 0, "ref-street.mpg",
                    "bitrate=400k quality=best preset=slower acodec=none", {},
                    [&](SessionSpec& spec) { spec.open_again = FileOf("ref-street.mpg"); });
  StreamSession& session = stream.session();
  while (session.Snapshot().state != StreamState::kAnalysing) {
    ASSERT_FALSE(session.WaitFor(std::chrono::milliseconds(10)));
  }
  session.Cancel();
  const Outcome outcome = stream.Finish();
  EXPECT_EQ(outcome.snapshot.state, StreamState::kCancelled);
  EXPECT_FALSE(outcome.started) << "no byte was sent";
  TestStream other(*engine, 1, "ref-talk.mpg", "width=128 bitrate=60k duration=5");
  EXPECT_EQ(other.Finish().snapshot.state, StreamState::kDone);
}

}  // namespace
}  // namespace gopmill::test
