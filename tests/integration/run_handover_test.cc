// SPDX-License-Identifier: Apache-2.0
//
// Chained units: a unit that takes its run over from the one before, one that has to decode the run
// again (a retry), and different amounts of decode-ahead all give the same packets.
#include <fcntl.h>
#include <gtest/gtest.h>

#include "codec/unit_transcoder.h"
#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

class RunHandover : public testing::Test {
 protected:
  void SetUp() override {
    auto ingest = Ingest::Open(UniqueFd(open(MoviePath("modern-720p.mp4").c_str(), O_RDONLY)),
                               Request("width=160 bitrate=100k acodec=none duration=12"), {});
    ASSERT_TRUE(ingest.ok());
    plan = ingest.value()->plan();
    encoder = std::make_shared<const EncoderSpec>(MakeEncoderSpec(*plan).value());
    units = UnitsOf(**ingest);
  }

  UnitTask Task(std::size_t unit, RunState run, std::size_t ahead) {
    return {.plan = plan,
            .encoder = encoder,
            .input = units[unit],
            .run = std::move(run),
            .decode_ahead_bytes = ahead};
  }

  std::shared_ptr<const StreamPlan> plan;
  std::shared_ptr<const EncoderSpec> encoder;
  std::vector<std::shared_ptr<const UnitInput>> units;
  ContextCache cache{std::size_t{64} << 20U};
};

TEST_F(RunHandover, SamePacketsHandedOnDecodedAgainAndWithAnyDecodeAhead) {
  ASSERT_GT(units.size(), 1U);
  RunState run;
  int chained = 0;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const UnitSpec& spec = units[i]->spec;
    const std::shared_ptr<const RunHistory> history = run.history;
    Packets first;
    ASSERT_TRUE(
        TranscodeUnit(Task(i, std::move(run), i % 2 == 0 ? 0 : 1 << 20), cache, {}, first).ok());
    EXPECT_EQ(static_cast<std::int64_t>(first.hashes.size()), spec.frame_count());
    EXPECT_EQ(first.encoders, 1);
    Packets again;  // without a selector: from the history, on a cold worker
    ContextCache cold{0};
    ASSERT_TRUE(
        TranscodeUnit(Task(i, {.selector = nullptr, .history = history}, 0), cold, {}, again).ok());
    EXPECT_EQ(again.hashes, first.hashes) << "unit " << i;
    EXPECT_EQ(first.state != nullptr, !spec.ends_run);
    chained += spec.cut == CutKind::kChained ? 1 : 0;
    run = first.state ? std::move(*first.state) : RunState{};
  }
  EXPECT_GT(chained, 0) << "the movie must have a GOP that is split";
}

TEST_F(RunHandover, StopsWithinAFrame) {
  std::stop_source stop;
  stop.request_stop();
  Packets none;
  const auto result = TranscodeUnit(Task(0, {}, 0), cache, stop.get_token(), none);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kCancelled);
  EXPECT_TRUE(none.hashes.empty());
}

TEST_F(RunHandover, UnitOfGarbageIsMadeUpFrameByFrame) {
  UnitInput garbage{.spec = units[0]->spec, .packets = {}};
  for (int i = 0; i < 20; ++i) {
    av::Packet packet = av::NewPacket();
    ASSERT_EQ(av_new_packet(packet.get(), 500), 0);
    for (int b = 0; b < 500; ++b) packet->data[b] = static_cast<std::uint8_t>(b * 37 + i);
    packet->pts = packet->dts = i * 512;
    garbage.packets.push_back(std::move(packet));
  }
  units[0] = std::make_shared<const UnitInput>(std::move(garbage));
  Packets out;
  const auto result = TranscodeUnit(Task(0, {}, 0), cache, {}, out);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(static_cast<std::int64_t>(out.hashes.size()), units[0]->spec.frame_count());
  EXPECT_GT(result->damage.concealed + result->selection.repeated, 0);
}

}  // namespace
}  // namespace gopmill::test
