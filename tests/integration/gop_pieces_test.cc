// SPDX-License-Identifier: Apache-2.0
//
// Live sources with low delay: a GOP that is made in pieces, handed on from one to the next or made
// again from its beginning, has the same packets as one that is made at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "codec/unit_transcoder.h"
#include "server/live/packet_tee.h"
#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

using testing::Each;

struct PieceCase {
  const char* movie;
  const char* params;
};

class GopPieces : public testing::TestWithParam<PieceCase> {
 protected:
  void SetUp() override {
    const std::string params = std::string(GetParam().params) + " acodec=none duration=5";
    live = LiveUnitsOf(GetParam().movie, params);
    ASSERT_TRUE(live.plan->low_delay);
  }

  Packets Make(const std::shared_ptr<const UnitInput>& unit, RunState run, ContextCache& contexts) {
    Packets out;
    UnitTask task{.plan = live.plan, .encoder = live.encoder, .input = unit, .run = std::move(run)};
    const auto made = TranscodeUnit(std::move(task), contexts, {}, out);
    if (!made.ok()) {
      ADD_FAILURE() << made.error().ToString();
      return out;
    }
    EXPECT_EQ(made->packets, static_cast<std::int64_t>(out.hashes.size()));
    return out;
  }
  // The pieces from `first` on that are one GOP, as one unit.
  std::shared_ptr<const UnitInput> Whole(std::size_t first) const {
    UnitInput whole{.spec = live.units[first]->spec, .packets = {}};
    for (std::size_t i = first;; ++i) {
      for (const av::Packet& packet : live.units[i]->packets) {
        whole.packets.push_back(av::Ref(*packet));
      }
      whole.spec.end_frame = live.units[i]->spec.end_frame;
      whole.spec.end_packet = live.units[i]->spec.end_packet;
      whole.spec.ends_run = live.units[i]->spec.ends_run;
      whole.spec.run_fed = live.units[i]->spec.run_fed;
      whole.spec.ends_gop = live.units[i]->spec.ends_gop;
      if (whole.spec.ends_gop) break;
    }
    return std::make_shared<const UnitInput>(std::move(whole));
  }

  LiveUnits live;
  ContextCache cache{std::size_t{64} << 20U};
};

TEST_P(GopPieces, TogetherAreTheGopThatIsMadeAtOnce) {
  RunState run, run_of_whole;
  std::vector<std::uint64_t> gop;
  std::size_t begin = 0;
  std::size_t pieces = 0;
  for (std::size_t i = 0; i < live.units.size(); ++i) {
    const UnitSpec& spec = live.units[i]->spec;
    if (spec.begins_gop()) {
      begin = i;
      gop.clear();
    }
    Packets piece = Make(live.units[i], std::move(run), cache);
    EXPECT_EQ(piece.state != nullptr, !spec.ends_run);
    gop.insert(gop.end(), piece.hashes.begin(), piece.hashes.end());
    run = piece.state ? std::move(*piece.state) : RunState{};
    EXPECT_EQ(run.gop != nullptr, !spec.ends_gop);
    ++pieces;
    if (!spec.ends_gop) continue;
    Packets whole = Make(Whole(begin), std::move(run_of_whole), cache);
    const auto differ = std::ranges::mismatch(gop, whole.hashes);
    EXPECT_EQ(differ.in1, gop.end())
        << "packet " << differ.in1 - gop.begin() << " of the GOP at frame " << spec.gop_frame();
    EXPECT_EQ(whole.keys, 1);
    EXPECT_EQ(static_cast<std::int64_t>(gop.size()), spec.end_frame - spec.gop_frame());
    run_of_whole = whole.state ? std::move(*whole.state) : RunState{};
  }
  EXPECT_GT(pieces, 30U) << "fifteen a second";
}

TEST_P(GopPieces, AreMadeAgainFromTheBeginningOfTheirGop) {
  RunState run;
  for (std::size_t i = 0; i < live.units.size(); ++i) {
    const auto history = run.history;
    const std::int64_t before = run.gop_packets;
    Packets first = Make(live.units[i], std::move(run), cache);
    ContextCache cold{0};
    Packets again =
        Make(live.units[i], {.selector = nullptr, .history = history, .gop_packets = before}, cold);
    EXPECT_EQ(again.hashes, first.hashes) << "unit " << i;
    run = first.state ? std::move(*first.state) : RunState{};
    EXPECT_EQ(run.gop_packets, again.state ? again.state->gop_packets : 0);
  }
}

TEST_P(GopPieces, SameBytesWhateverThePolicyAndTheWorkers) {
  std::vector<std::uint64_t> hashes;
  for (const auto& [policy, workers] :
       {std::pair{"fifo", 1}, std::pair{"fifo", 2}, std::pair{"hearth", 2}}) {
    const auto engine = MakeEngine(policy, workers);
    const auto tee =
        std::make_shared<PacketTee>(OpenMovie(GetParam().movie), 1U, std::make_shared<LiveClock>());
    TestStream stream(
        *engine, 1, GetParam().movie, std::string(GetParam().params) + " acodec=none duration=5",
        {}, [&](SessionSpec& spec) {
          spec.open_packets = [tee](const std::stop_token& stop) { return tee->Open(0, stop); };
        });
    const Outcome outcome = stream.Finish();
    EXPECT_EQ(outcome.snapshot.state, StreamState::kDone);
    EXPECT_EQ(outcome.snapshot.seams.violations(), 0);
    EXPECT_EQ(outcome.snapshot.frames_out, outcome.snapshot.frames_planned);
    hashes.push_back(HashOf(outcome.bytes));
  }
  EXPECT_THAT(hashes, Each(hashes.front()));
}

INSTANTIATE_TEST_SUITE_P(
    Sources, GopPieces,
    testing::Values(PieceCase{"ref-talk.mpg", "width=160 bitrate=100k"},
                    PieceCase{"modern-720p.mp4", "width=160 bitrate=100k maxrate=200k unit=2"},
                    PieceCase{"open-gop-480p.ts", "width=160 crf=28 container=ts"},
                    PieceCase{"vfr-540p.mkv", "width=160 bitrate=90k fps=15 profile=baseline"},
                    PieceCase{"ref-street.mpg", "width=160 bitrate=90k preset=ultrafast fps=50"}),
    [](const auto& source) {
      std::string name = source.param.movie;
      std::erase_if(name, [](char c) { return std::isalnum(c) == 0; });
      return name;
    });

}  // namespace
}  // namespace gopmill::test
