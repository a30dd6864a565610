// SPDX-License-Identifier: Apache-2.0
//
// Units whose rate was missed: each pass is counted once, takes one encoder and no other decode,
// and one of them leaves. One that is asked to stop in a later pass is cancelled as in the first.
#include <fcntl.h>
#include <gtest/gtest.h>

#include "codec/unit_transcoder.h"
#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

struct PassCase {
  const char* movie;
  const char* request;

  friend void PrintTo(const PassCase& given, std::ostream* out) {
    *out << given.movie << " " << given.request;
  }
};

class UnitPasses : public testing::TestWithParam<PassCase> {};

TEST_P(UnitPasses, AreCountedOnceAndDecodeOnce) {
  auto ingest = Ingest::Open(UniqueFd(open(MoviePath(GetParam().movie).c_str(), O_RDONLY)),
                             Request(GetParam().request), {});
  ASSERT_TRUE(ingest.ok());
  const auto plan = ingest.value()->plan();
  const auto encoder = std::make_shared<const EncoderSpec>(MakeEncoderSpec(*plan).value());
  ContextCache cache{std::size_t{64} << 20U};
  std::int64_t passes = 0, units = 0;
  RunState run;
  for (const auto& input : UnitsOf(**ingest)) {
    Packets out;
    const auto stats = TranscodeUnit(
        {.plan = plan, .encoder = encoder, .input = input, .run = std::move(run)}, cache, {}, out);
    ASSERT_TRUE(stats.ok());
    EXPECT_EQ(stats->packets, input->spec.frame_count()) << "unit " << units;
    EXPECT_EQ(static_cast<std::int64_t>(out.hashes.size()), stats->packets) << "unit " << units;
    EXPECT_EQ(stats->decoded_again, 0) << "unit " << units;
    passes += stats->encodes;
    ++units;
    run = out.state ? std::move(*out.state) : RunState{};
  }
  EXPECT_GT(passes, units) << "none was missed";
  EXPECT_EQ(passes, cache.Stats().encoder_hits + cache.Stats().encoder_misses);
}

// Too short to be steered; misjudged by their first frames.
INSTANTIATE_TEST_SUITE_P(
    Units, UnitPasses,
    testing::Values(PassCase{"modern-720p.mp4",
                             "width=160 fps=2 bitrate=30k acodec=none duration=20"},
                    PassCase{"vfr-540p.mkv", "width=480 bitrate=300k acodec=none duration=20"}),
    [](const auto& given) { return given.index == 0 ? "Short" : "Misjudged"; });

// Asks for the end when the encoder of the second pass has been opened.
class StopsInSecondPass final : public Packets {
 public:
  void OnEncoder(std::shared_ptr<const AVCodecParameters> parameters) override {
    Packets::OnEncoder(std::move(parameters));
    if (encoders == 2) stop.request_stop();
  }
  std::stop_source stop;
};

// A search decodes again for each pass.
TEST(UnitPassesTest, AStopInALaterPassIsACancellation) {
  auto ingest =
      Ingest::Open(UniqueFd(open(MoviePath("modern-720p.mp4").c_str(), O_RDONLY)),
                   Request("width=160 bitrate=100k quality=best acodec=none duration=4"), {});
  ASSERT_TRUE(ingest.ok());
  const auto plan = ingest.value()->plan();
  const auto encoder = std::make_shared<const EncoderSpec>(MakeEncoderSpec(*plan).value());
  const auto units = UnitsOf(**ingest);
  ContextCache cache{std::size_t{64} << 20U};
  StopsInSecondPass out;
  const auto stats =
      TranscodeUnit({.plan = plan, .encoder = encoder, .input = units.front(), .run = {}}, cache,
                    out.stop.get_token(), out);
  ASSERT_EQ(out.encoders, 2) << "there was no second pass";
  ASSERT_FALSE(stats.ok());
  EXPECT_EQ(stats.error().code, Code::kCancelled);
  EXPECT_TRUE(out.hashes.empty());
}

}  // namespace
}  // namespace gopmill::test
