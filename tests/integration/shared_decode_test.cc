// SPDX-License-Identifier: Apache-2.0
//
// Readers of one live source with different targets are decoded together, make the same bytes as
// each on its own, and do each other no harm: none that leaves, none that is stuck.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <thread>

#include "server/session/decode_table.h"
#include "server/session/live_source.h"
#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

using testing::Gt;
using testing::Lt;

constexpr std::array<const char*, 2> kTargets = {
    "width=256 height=144 bitrate=300k preset=ultrafast",
    "width=128 height=72 bitrate=100k preset=ultrafast",
};

// A movie that is published until `end` seconds; before each packet it asks for leave.
class Published final : public PacketSource {
 public:
  using Gate = std::function<void(double seconds)>;
  Published(std::unique_ptr<PacketSource> movie, double end, Gate gate)
      : movie_(std::move(movie)), end_(end), gate_(std::move(gate)) {}
  const std::shared_ptr<const SourceInfo>& info() const override { return movie_->info(); }
  bool counted_pts() const override { return false; }
  std::int64_t start_us() const override { return movie_->start_us(); }
  bool truncated() const override { return false; }
  Status SeekBefore(Rational seconds) override { return movie_->SeekBefore(seconds); }
  Result<ReadState> Read(AVPacket& packet) override {
    GOPMILL_ASSIGN_OR_RETURN(const ReadState state, movie_->Read(packet));
    if (state != ReadState::kVideo) return state;
    const double seconds =
        static_cast<double>(packet.dts) * movie_->info()->video.time_base.ToDouble();
    gate_(seconds);
    return seconds < end_ ? state : ReadState::kEnd;
  }

 private:
  const std::unique_ptr<PacketSource> movie_;
  const double end_;
  const Gate gate_;
};

void WaitUntil(const std::function<bool()>& met) {
  while (!met()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

struct ShowCase {
  const char* movie;
  bool whole_units;  // or pieces
};

// A live source and two readers of it, the second of which begins at its second key picture.
class Show {
 public:
  Show(Engine& engine, const ShowCase& shown, std::shared_ptr<DecodeTable> decoders)
      : engine_(engine), shown_(shown), decoders_(std::move(decoders)) {}
  void OnWriteOf(std::size_t reader, OnWrite on_write) { on_write_[reader] = std::move(on_write); }
  // Called by the publisher with the time of each picture.
  std::function<void(double)> on_picture = [](double) {};

  std::vector<Outcome> Run() {
    const auto claim = live_->Acquire(false);
    StartReader(0);
    auto movie = OpenMovie(shown_.movie)({});
    Published source(std::move(movie).value(), 7.9, [this](double seconds) { Gate(seconds); });
    EXPECT_TRUE(live_->Run(*claim, source).ok());
    EXPECT_TRUE(live_->Release(*claim).ok());
    std::vector<Outcome> outcomes;
    for (auto& reader : readers_) outcomes.push_back(reader->Finish());
    return outcomes;
  }
  StreamSession& session(std::size_t reader) { return readers_[reader]->session(); }
  // Nobody waits for it any more.
  void LetBehind(std::size_t reader) { behind_[reader] = true; }

 private:
  void StartReader(std::size_t i) {
    readers_.push_back(std::make_unique<TestStream>(
        engine_, i, shown_.movie, kTargets[i], on_write_[i], [&](SessionSpec& spec) {
          spec.decoders = decoders_;
          spec.live = spec.real_time = true;
          spec.request.whole_units = shown_.whole_units;
          spec.open_packets = [live = live_](const std::stop_token& stop) {
            return live->Subscribe(stop, {}, LiveSource::ReaderClock::kShared);
          };
        }));
    WaitUntil([&] { return live_->readers() == i + 1; });
  }
  // Ahead of no reader by more than a second, so that none loses anything.
  void Gate(double seconds) {
    // What need not be waited for is taken for what a demuxer has read ahead.
    if (seconds < 0.1) std::this_thread::sleep_for(std::chrono::milliseconds(3));
    if (seconds > 1 && readers_.size() == 1) StartReader(1);
    on_picture(seconds);
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      const double begun = i == 0 ? 0 : 2;
      WaitUntil([&] {
        const StreamSnapshot now = session(i).Snapshot();
        const double rate = now.plan ? now.plan->grid.fps().ToDouble() : 1;
        return behind_[i] || now.state > StreamState::kRunning ||
               begun + static_cast<double>(now.frames_planned) / rate > seconds - 1.5;
      });
    }
  }

  Engine& engine_;
  const ShowCase shown_;
  const std::shared_ptr<DecodeTable> decoders_;
  const std::shared_ptr<LiveSource> live_ = std::make_shared<LiveSource>(Duration::zero());
  std::array<OnWrite, 2> on_write_;
  std::array<std::atomic<bool>, 2> behind_{};
  std::vector<std::unique_ptr<TestStream>> readers_;
};

// Readers that are not paced may be far apart.
std::shared_ptr<DecodeTable> Patient() {
  return std::make_shared<DecodeTable>(std::chrono::seconds(60));
}

class SharedDecodeTest : public testing::TestWithParam<ShowCase> {
 protected:
  std::unique_ptr<Engine> engine = MakeEngine("hearth", 2);
};

TEST_P(SharedDecodeTest, OneDecodeForReadersOfDifferentTargetsAndTheSameBytes) {
  const auto alone = Show(*engine, GetParam(), nullptr).Run();
  const auto together = Show(*engine, GetParam(), Patient()).Run();
  ASSERT_EQ(together.size(), 2U);
  std::int64_t decoded = 0, decoded_alone = 0, elsewhere = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    const StreamSnapshot& snapshot = together[i].snapshot;
    EXPECT_EQ(snapshot.state, StreamState::kDone);
    EXPECT_EQ(HashOf(together[i].bytes), HashOf(alone[i].bytes)) << "reader " << i;
    EXPECT_THAT(snapshot.units_done, Gt(0));
    EXPECT_EQ(alone[i].snapshot.decoded_elsewhere, 0);
    decoded += snapshot.selection.decoded;
    decoded_alone += alone[i].snapshot.selection.decoded;
    elsewhere += snapshot.decoded_elsewhere;
  }
  EXPECT_THAT(elsewhere, Gt(0));
  // The second one decodes its first run for itself: two of its six seconds.
  EXPECT_THAT(decoded, Lt(decoded_alone * 3 / 4));
}

// The one that leaves has the decoder at that time, or it has not.
TEST_P(SharedDecodeTest, WhoLeavesTakesNothingAway) {
  const auto alone = Show(*engine, GetParam(), nullptr).Run();
  for (const std::size_t leaves : {0U, 1U}) {
    Show show(*engine, GetParam(), Patient());
    show.on_picture = [&](double seconds) {
      if (seconds > 5) show.session(leaves).Cancel();
    };
    const auto outcomes = show.Run();
    const std::size_t stays = 1 - leaves;
    EXPECT_EQ(outcomes[leaves].snapshot.state, StreamState::kCancelled);
    EXPECT_EQ(outcomes[stays].snapshot.state, StreamState::kDone);
    EXPECT_EQ(HashOf(outcomes[stays].bytes), HashOf(alone[stays].bytes)) << "reader " << stays;
  }
  EXPECT_EQ(engine->scheduler().Stats().waiting_units, 0U);
}

TEST_P(SharedDecodeTest, WhoIsStuckIsNotWaitedFor) {
  const auto alone = Show(*engine, GetParam(), nullptr).Run();
  Show show(*engine, GetParam(), std::make_shared<DecodeTable>());
  std::atomic<bool> stuck = false;
  show.OnWriteOf(1, [&](std::span<const std::uint8_t>) {
    if (!stuck) return OkStatus();
    show.LetBehind(1);
    WaitUntil([&] { return show.session(0).closed(); });
    return OkStatus();
  });
  show.on_picture = [&](double seconds) { stuck = seconds > 5; };
  const auto outcomes = show.Run();
  EXPECT_EQ(outcomes[0].snapshot.state, StreamState::kDone);
  EXPECT_EQ(HashOf(outcomes[0].bytes), HashOf(alone[0].bytes));
  EXPECT_EQ(outcomes[1].snapshot.state, StreamState::kDone);
  EXPECT_EQ(outcomes[1].snapshot.units_done, outcomes[1].snapshot.units_planned);
}

INSTANTIATE_TEST_SUITE_P(Units, SharedDecodeTest,
                         testing::Values(ShowCase{"modern-720p.mp4", false},
                                         ShowCase{"modern-720p.mp4", true}),
                         [](const auto& shown) {
                           return shown.param.whole_units ? "Whole" : "InPieces";
                         });

}  // namespace
}  // namespace gopmill::test
