// SPDX-License-Identifier: Apache-2.0
//
// GOPs of two sizes in one transport stream, as a live stream has them that the machine does not
// keep up with: a decoder takes them without a word, and each is what it is whatever was before it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <limits>
#include <map>
#include <set>

#include "codec/unit_transcoder.h"
#include "codec/video_decoder.h"
#include "media/source.h"
#include "server/live/packet_tee.h"
#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

using Sizes = std::vector<std::pair<int, int>>;  // of decoded pictures, in their order

// What a player makes of a transport stream.
struct Played {
  Sizes sizes;
  std::vector<std::int64_t> pts;
  std::int64_t damaged = 0;
};

Played Play(std::span<const std::uint8_t> bytes) {
  UniqueFd file(memfd_create("played.ts", MFD_CLOEXEC));
  EXPECT_EQ(write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  EXPECT_EQ(lseek(file.get(), 0, SEEK_SET), 0);
  Played played;
  const auto source = Source::Open(std::move(file), {});
  if (!source.ok()) {
    ADD_FAILURE() << source.error().ToString();
    return played;
  }
  const VideoInfo& video = (*source)->info()->video;
  const auto decoder = VideoDecoder::Open(*video.parameters, video.time_base).value();
  const av::Frame frame = av::NewFrame();
  const auto take = [&] {
    while (decoder->Receive(*frame).value()) {
      played.sizes.emplace_back(frame->width, frame->height);
      played.pts.push_back(frame->pts);
      av_frame_unref(frame.get());
    }
  };
  const av::Packet packet = av::NewPacket();
  while (true) {
    const auto state = (*source)->Read(*packet).value();
    if (state == PacketSource::ReadState::kEnd) break;
    if (state == PacketSource::ReadState::kVideo) {
      EXPECT_TRUE(decoder->Send(packet.get()).ok());
      take();
    }
    av_packet_unref(packet.get());
  }
  EXPECT_TRUE(decoder->Send(nullptr).ok());
  take();
  played.damaged = decoder->damaged();
  return played;
}

std::map<std::pair<int, int>, int> CountOf(const Sizes& sizes) {
  std::map<std::pair<int, int>, int> counts;
  for (const auto& size : sizes) ++counts[size];
  return counts;
}

void ExpectEvenTimes(const Played& played) {
  std::set<std::int64_t> steps;
  for (std::size_t i = 1; i < played.pts.size(); ++i) {
    steps.insert(played.pts[i] - played.pts[i - 1]);
  }
  ASSERT_FALSE(steps.empty());
  EXPECT_GT(*steps.begin(), 0);
  EXPECT_LE(*steps.rbegin() - *steps.begin(), 1) << "ticks of 90 kHz";
}

// Keeps packets.
class Kept : public UnitOutput {
 public:
  void OnEncoder(std::shared_ptr<const AVCodecParameters> given) override {
    if (!parameters) parameters = std::move(given);
  }
  void OnPacket(av::Packet packet) override { packets.push_back(std::move(packet)); }
  void OnRunReady(std::unique_ptr<RunState> handed_on) override { state = std::move(handed_on); }

  std::shared_ptr<const AVCodecParameters> parameters;
  std::vector<av::Packet> packets;
  std::unique_ptr<RunState> state;
};

std::vector<std::uint8_t> BytesOf(const AVPacket& packet) {
  return {packet.data, packet.data + packet.size};
}

struct SizeCase {
  const char* movie;
  const char* params;
};

class HalfSizeGops : public testing::TestWithParam<SizeCase> {
 protected:
  void SetUp() override {
    const std::string params =
        std::string(GetParam().params) + " container=ts acodec=none duration=5";
    live = LiveUnitsOf(GetParam().movie, params);
    const auto smaller = WithHalfSize(WithLessSearch(*live.encoder), *live.plan);
    ASSERT_TRUE(smaller.has_value());
    half = std::make_shared<const EncoderSpec>(*smaller);
  }
  UnitTask Task(const std::shared_ptr<const UnitInput>& unit, bool small, RunState run) const {
    return {.plan = live.plan,
            .encoder = small ? half : live.encoder,
            .input = unit,
            .run = std::move(run),
            .frame_step = small ? FrameStep(Effort::kHalfSize) : 1};
  }
  using IsSmall = std::function<bool(int gop)>;
  // All units one after the other; packets by the number of their GOP.
  std::vector<Kept> Make(const IsSmall& is_small) {
    std::vector<Kept> gops;
    RunState run;
    for (const auto& unit : live.units) {
      if (unit->spec.begins_gop()) gops.emplace_back();
      Kept& gop = gops.back();
      const bool small = is_small(static_cast<int>(gops.size()) - 1);
      const auto made = TranscodeUnit(Task(unit, small, std::move(run)), cache, {}, gop);
      if (!made.ok()) {
        ADD_FAILURE() << made.error().ToString();
        return gops;
      }
      run = gop.state ? std::move(*std::exchange(gop.state, nullptr)) : RunState{};
    }
    return gops;
  }
  std::vector<std::uint8_t> Mux(const std::vector<Kept>& gops) const {
    std::vector<std::uint8_t> bytes;
    const MuxTrack track{.kind = TrackKind::kVideo,
                         .parameters = gops.front().parameters,
                         .time_base = live.plan->grid.fps().Inverse(),
                         .frame_rate = live.plan->grid.fps()};
    auto muxer =
        Muxer::Open({.container = Container::kTs, .path = {}}, {&track, 1}, [&](auto piece) {
          bytes.insert(bytes.end(), piece.begin(), piece.end());
          return OkStatus();
        }).value();
    for (const Kept& gop : gops) {
      for (const av::Packet& packet : gop.packets) {
        EXPECT_TRUE(muxer->Write(0, av::Ref(*packet)).ok());
      }
      EXPECT_TRUE(muxer->EndUnit().ok());
    }
    EXPECT_TRUE(muxer->Finish().ok());
    return bytes;
  }

  LiveUnits live;
  std::shared_ptr<const EncoderSpec> half;  // of live.encoder
  ContextCache cache{std::size_t{64} << 20U};
};

bool EverySecond(int gop) { return gop % 2 == 1; }

TEST_P(HalfSizeGops, PlayWithoutAFault) {
  const auto gops = Make(EverySecond);
  ASSERT_GT(gops.size(), 3U);
  std::int64_t dts = std::numeric_limits<std::int64_t>::min();
  int small = 0, large = 0;
  for (std::size_t i = 0; i < gops.size(); ++i) {
    (EverySecond(static_cast<int>(i)) ? small : large) += static_cast<int>(gops[i].packets.size());
    for (const av::Packet& packet : gops[i].packets) {
      EXPECT_GT(packet->dts, dts) << "GOP " << i;
      dts = packet->dts;
    }
  }
  const Played played = Play(Mux(gops));
  EXPECT_EQ(played.damaged, 0);
  EXPECT_THAT(
      CountOf(played.sizes),
      UnorderedElementsAre(Pair(std::pair(live.encoder->width, live.encoder->height), large),
                           Pair(std::pair(half->width, half->height), small)));
  ExpectEvenTimes(played);
}

TEST_P(HalfSizeGops, BeginWithTheirSize) {
  // A muxer that was told of the whole size, and a player that comes when pictures are small.
  auto gops = Make(EverySecond);
  const auto parameters = gops.front().parameters;
  gops.erase(gops.begin());
  gops.front().parameters = parameters;
  const Played played = Play(Mux(gops));
  ASSERT_FALSE(played.sizes.empty());
  EXPECT_EQ(played.sizes.front(), std::pair(half->width, half->height));
  EXPECT_EQ(played.damaged, 0);
}

TEST_P(HalfSizeGops, DoNotDependOnTheSizesBefore) {
  const auto mixed = Make(EverySecond);
  const std::array both{Make([](int) { return false; }), Make([](int) { return true; })};
  for (std::size_t i = 0; i < mixed.size(); ++i) {
    const Kept& same = both.at(i % 2)[i];
    ASSERT_EQ(mixed[i].packets.size(), same.packets.size()) << "GOP " << i;
    for (std::size_t n = 0; n < same.packets.size(); ++n) {
      EXPECT_EQ(BytesOf(*mixed[i].packets[n]), BytesOf(*same.packets[n]))
          << "GOP " << i << " packet " << n;
    }
  }
}

// Two readers of one decode, one of which changes its size.
TEST_P(HalfSizeGops, AreTheSameInAGroup) {
  const std::array alone{Make(EverySecond), Make([](int) { return false; })};
  std::array<RunState, 2> runs;
  std::size_t gop = 0;
  std::array<std::size_t, 2> at{};
  for (const auto& unit : live.units) {
    if (unit->spec.begins_gop() && unit != live.units.front()) {
      ++gop;
      at = {};
    }
    std::array<Kept, 2> out;
    std::vector<UnitRendition> members;
    for (std::size_t i = 0; i < 2; ++i) {
      const bool small = i == 0 && EverySecond(static_cast<int>(gop));
      members.push_back({Task(unit, small, std::move(runs.at(i))), {}, &out.at(i)});
    }
    ASSERT_TRUE(TranscodeTogether(members, cache).ok());
    for (std::size_t i = 0; i < 2; ++i) {
      for (const av::Packet& packet : out.at(i).packets) {
        const auto& expected = alone.at(i)[gop].packets;
        ASSERT_LT(at.at(i), expected.size());
        EXPECT_EQ(BytesOf(*packet), BytesOf(*expected[at.at(i)++])) << "GOP " << gop;
      }
      runs.at(i) = out.at(i).state ? std::move(*out.at(i).state) : RunState{};
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sources, HalfSizeGops,
    testing::Values(SizeCase{"modern-720p.mp4", "width=320 bitrate=200k"},
                    SizeCase{"ref-street.mpg", "width=352 height=260 fit=pad crf=30 maxrate=400k"},
                    SizeCase{"modern-720p.mp4",
                             "width=322 bitrate=200k vcodec=hevc "
                             "preset=ultrafast"}),
    [](const auto& source) { return "Case" + std::to_string(source.index); });

// Every unit of a class like this is late, on any machine.
std::unique_ptr<Engine> HopelessEngine() {
  EngineOptions options;
  options.scheduler.policy = "hearth";
  options.scheduler.workers = 1;
  options.scheduler.classes = "hopeless:1:0:0:0.001";
  auto engine = Engine::Create(options);
  GOPMILL_CHECK(engine.ok());
  return std::move(engine).value();
}

Outcome RunHopeless(const std::string& params) {
  const auto engine = HopelessEngine();
  const auto tee =
      std::make_shared<PacketTee>(OpenMovie("ref-talk.mpg"), 1U, std::make_shared<LiveClock>());
  const auto adjust = [&](SessionSpec& spec) {
    spec.live = spec.real_time = spec.degrades = true;
    spec.limits.window_units = 3;
    spec.open_packets = [tee](const std::stop_token& stop) { return tee->Open(0, stop); };
  };
  const std::string all =
      "width=320 height=240 fit=stretch unit=0.5 acodec=none duration=20 " + params;
  return TestStream(*engine, 0, "ref-talk.mpg", all, {}, adjust).Finish();
}

std::int64_t UnitsWith(const Outcome& outcome, Effort effort) {
  return outcome.snapshot.units_by_effort.at(static_cast<std::size_t>(effort));
}

TEST(HalfSizeStream, ComesLastAndIsNoFault) {
  const Outcome outcome = RunHopeless("container=ts");
  EXPECT_EQ(outcome.snapshot.state, StreamState::kDone);
  EXPECT_EQ(outcome.snapshot.effort, Effort::kHalfSize);
  for (int i = 0; i < kEfforts; ++i) {
    const auto effort = static_cast<Effort>(i);
    EXPECT_GT(UnitsWith(outcome, effort), 0) << Name(effort);
  }
  EXPECT_EQ(outcome.snapshot.seams.violations(), 0);
  EXPECT_EQ(outcome.snapshot.seams.size_changes, 1);
  EXPECT_EQ(outcome.snapshot.frames_out, outcome.snapshot.frames_planned);
  const Played played = Play(outcome.bytes);
  EXPECT_EQ(static_cast<std::int64_t>(played.sizes.size()), outcome.snapshot.frames_out);
  EXPECT_EQ(played.damaged, 0);
  Sizes order = played.sizes;
  order.erase(std::ranges::unique(order).begin(), order.end());
  EXPECT_THAT(order, ElementsAre(Pair(320, 240), Pair(160, 120)));
  ExpectEvenTimes(played);
}

TEST(HalfSizeStream, IsNotForContainersWithAHeader) {
  const Outcome outcome = RunHopeless("container=mp4");
  EXPECT_EQ(outcome.snapshot.state, StreamState::kDone);
  EXPECT_EQ(outcome.snapshot.effort, Effort::kQuarterRate);
  EXPECT_EQ(UnitsWith(outcome, Effort::kHalfSize), 0);
  EXPECT_EQ(outcome.snapshot.seams.size_changes, 0);
  EXPECT_EQ(outcome.snapshot.seams.violations(), 0);
}

}  // namespace
}  // namespace gopmill::test
