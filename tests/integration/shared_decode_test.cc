// SPDX-License-Identifier: Apache-2.0
//
// Streams of one live source with different targets are decoded together, make the same bytes as
// each on its own, and do each other no harm: none that leaves, none that is stuck. Readers whose
// units are alike become one job; those with other frame rates and GOPs, and presentations, share
// the pictures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <thread>

#include "server/live/live_source.h"
#include "server/live/packet_tee.h"
#include "server/stream/decode_table.h"
#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

using testing::Gt;
using testing::Lt;

struct Viewer {
  const char* target;
  double from = 0;            // begins behind this second
  bool presentation = false;  // one of the renditions of a presentation, which are begun together
};
using Viewers = std::vector<Viewer>;

const Viewers kReaders = {
    {"width=256 height=144 bitrate=300k preset=ultrafast"},
    {"width=128 height=72 bitrate=100k preset=ultrafast", 1},
};
// A frame rate, GOPs and B frames of its own each; the source has a key picture each two seconds.
const Viewers kAllKinds = {
    {"width=256 height=144 bitrate=300k preset=veryfast"},
    {"width=192 height=108 bitrate=200k preset=ultrafast fps=20 unit=0.7", 1},
    {"width=160 height=90 bitrate=150k preset=ultrafast container=mp4 unit=4 acodec=none", 0, true},
    {"width=128 height=72 bitrate=100k preset=ultrafast container=mp4 unit=4 acodec=none", 0, true},
};

// A movie that is published until `end` seconds; before each packet it asks for leave.
class Published final : public PacketSource {
 public:
  using Gate = std::function<void(double seconds)>;
  Published(std::unique_ptr<PacketSource> movie, double end, bool interlaced, Gate gate)
      : movie_(std::move(movie)), end_(end), gate_(std::move(gate)) {
    auto info = std::make_shared<SourceInfo>(*movie_->info());
    info->video.interlaced = interlaced || info->video.interlaced;
    info_ = std::move(info);
  }
  const std::shared_ptr<const SourceInfo>& info() const override { return info_; }
  bool counted_pts() const override { return false; }
  std::int64_t start_us() const override { return movie_->start_us(); }
  bool truncated() const override { return false; }
  Status SeekBefore(Rational seconds) override { return movie_->SeekBefore(seconds); }
  Result<ReadState> Read(AVPacket& packet) override {
    GOPMILL_ASSIGN_OR_RETURN(const ReadState state, movie_->Read(packet));
    if (state != ReadState::kVideo) return state;
    if (!first_) first_ = packet.dts;
    const double seconds =
        static_cast<double>(packet.dts - *first_) * movie_->info()->video.time_base.ToDouble();
    gate_(seconds);
    return seconds < end_ ? state : ReadState::kEnd;
  }

 private:
  const std::unique_ptr<PacketSource> movie_;
  std::shared_ptr<const SourceInfo> info_;
  const double end_;
  const Gate gate_;
  std::optional<std::int64_t> first_;  // dts
};

void WaitUntil(const std::function<bool()>& met) {
  while (!met()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

struct ShowCase {
  const char* movie;
  bool whole_units;  // or pieces
  double seconds = 7.9;
  bool interlaced = false;  // or so it says
};

// What the streams may share.
struct Sharing {
  std::shared_ptr<DecodeTable> decoders;
  std::shared_ptr<PictureStore> pictures;
};

// A live source and its streams.
class Show {
 public:
  Show(Engine& engine, const ShowCase& shown, Sharing sharing, Viewers viewers = kReaders)
      : engine_(engine),
        shown_(shown),
        sharing_(std::move(sharing)),
        viewers_(std::move(viewers)) {}
  void OnWriteOf(std::size_t viewer, OnWrite on_write) { on_write_[viewer] = std::move(on_write); }
  // Called by the publisher with the time of each picture.
  std::function<void(double)> on_picture = [](double) {};

  std::vector<Outcome> Run() {
    const auto claim = live_->Acquire(false);
    auto movie = OpenMovie(shown_.movie)({});
    StartThoseOf(0);
    Published source(std::move(movie).value(), shown_.seconds, shown_.interlaced,
                     [this](double seconds) { Gate(seconds); });
    EXPECT_TRUE(live_->Run(*claim, source).ok());
    EXPECT_TRUE(live_->Release(*claim).ok());
    std::vector<Outcome> outcomes(viewers_.size());
    for (auto& [i, stream] : streams_) outcomes[i] = stream->Finish();
    return outcomes;
  }
  StreamSession& session(std::size_t viewer) { return streams_.at(viewer)->session(); }
  // Nobody waits for it any more.
  void LetBehind(std::size_t viewer) { behind_[viewer] = true; }

 private:
  void StartThoseOf(double seconds) {
    for (std::size_t i = 0; i < viewers_.size(); ++i) {
      if (viewers_[i].from <= seconds && !streams_.contains(i)) Start(i);
    }
  }
  void Start(std::size_t i) {
    streams_[i] = std::make_unique<TestStream>(
        engine_, i, shown_.movie, viewers_[i].target, on_write_[i], [&](SessionSpec& spec) {
          spec.pictures = sharing_.pictures;
          spec.live = spec.real_time = true;
          spec.request.whole_units = shown_.whole_units;
          // No longer than what is not waited for.
          if (shown_.whole_units && spec.request.unit_seconds) spec.request.unit_seconds = 0.7;
          if (viewers_[i].presentation) return MakeRendition(spec);
          ++subscriptions_;
          spec.decoders = sharing_.decoders;
          spec.open_packets = [live = live_](const std::stop_token& stop) {
            return live->Subscribe(stop, {}, LiveSource::ReaderClock::kShared);
          };
        });
    WaitUntil([&] { return live_->readers() == subscriptions_; });
  }
  // As LiveSegments does it.
  void MakeRendition(SessionSpec& spec) {
    const auto all =
        static_cast<std::size_t>(std::ranges::count(viewers_, true, &Viewer::presentation));
    if (tee_ == nullptr) {
      ++subscriptions_;
      tee_ = std::make_shared<PacketTee>(
          [live = live_](const std::stop_token& stop) { return live->Subscribe(stop); }, all,
          std::make_shared<LiveClock>());
      if (sharing_.decoders) group_ = std::make_shared<DecodeGroup>(all, 1000.0);
    }
    const std::size_t rendition = renditions_++;
    spec.group = group_;
    spec.member = rendition;
    spec.open_packets = [tee = tee_, rendition](const std::stop_token& stop) {
      return tee->Open(rendition, stop);
    };
  }
  // Ahead of no stream by more than a second, so that none loses anything.
  void Gate(double seconds) {
    // What need not be waited for is taken for what a demuxer has read ahead.
    if (seconds < 0.1) std::this_thread::sleep_for(std::chrono::milliseconds(3));
    StartThoseOf(seconds);
    on_picture(seconds);
    for (auto& [i, stream] : streams_) {
      const double begun = viewers_[i].from > 0 ? 2 : 0;
      WaitUntil([&] {
        const StreamSnapshot now = stream->session().Snapshot();
        const double rate = now.plan ? now.plan->grid.fps().ToDouble() : 1;
        return behind_[i] || now.state > StreamState::kRunning ||
               begun + static_cast<double>(now.frames_planned) / rate > seconds - 1.5;
      });
    }
  }

  Engine& engine_;
  const ShowCase shown_;
  const Sharing sharing_;
  const Viewers viewers_;
  // For the first picture; and then they wait for so long behind the last one.
  const std::shared_ptr<LiveSource> live_ = std::make_shared<LiveSource>(std::chrono::seconds(2));
  std::array<OnWrite, 4> on_write_;
  std::array<std::atomic<bool>, 4> behind_{};
  std::shared_ptr<PacketTee> tee_;
  std::shared_ptr<DecodeGroup> group_;
  std::size_t subscriptions_ = 0, renditions_ = 0;
  std::map<std::size_t, std::unique_ptr<TestStream>> streams_;  // by viewer
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
  const auto alone = Show(*engine, GetParam(), {}).Run();
  const auto together = Show(*engine, GetParam(), {.decoders = Patient(), .pictures = {}}).Run();
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
  const auto alone = Show(*engine, GetParam(), {}).Run();
  for (const std::size_t leaves : {0U, 1U}) {
    Show show(*engine, GetParam(), {.decoders = Patient(), .pictures = {}});
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
  const auto alone = Show(*engine, GetParam(), {}).Run();
  Show show(*engine, GetParam(), {.decoders = std::make_shared<DecodeTable>(), .pictures = {}});
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

// Enough for streams that are not paced.
std::shared_ptr<PictureStore> Roomy() {
  return std::make_shared<PictureStore>(std::size_t{1} << 30U);
}

std::int64_t DecodedBy(const std::vector<Outcome>& outcomes) {
  std::int64_t decoded = 0;
  for (const Outcome& outcome : outcomes) decoded += outcome.snapshot.selection.decoded;
  return decoded;
}

void ExpectTheSame(const std::vector<Outcome>& outcomes, const std::vector<Outcome>& alone) {
  ASSERT_EQ(outcomes.size(), alone.size());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(alone[i].snapshot.state, StreamState::kDone) << "viewer " << i;
    EXPECT_EQ(outcomes[i].snapshot.state, StreamState::kDone) << "viewer " << i;
    EXPECT_EQ(HashOf(outcomes[i].bytes), HashOf(alone[i].bytes)) << "viewer " << i;
    EXPECT_EQ(outcomes[i].snapshot.retries, 0) << "viewer " << i;
  }
}

// Of all kinds, each without the others.
const std::vector<Outcome>& AllAlone(Engine& engine, const ShowCase& shown) {
  static std::map<bool, std::vector<Outcome>> made;
  auto& outcomes = made[shown.whole_units];
  if (outcomes.empty()) outcomes = Show(engine, shown, {}, kAllKinds).Run();
  return outcomes;
}

TEST_P(SharedDecodeTest, OneDecodeForAPresentationAndReadersOfAnyFrameRateAndGops) {
  const auto& alone = AllAlone(*engine, GetParam());
  const auto store = Roomy();
  const auto together =
      Show(*engine, GetParam(), {.decoders = Patient(), .pictures = store}, kAllKinds).Run();
  ExpectTheSame(together, alone);
  // Of eight seconds the first two are decoded by the reader and the presentation, the rest once.
  EXPECT_THAT(DecodedBy(together), Lt(DecodedBy(alone) / 2));
  EXPECT_EQ(store->bytes(), 0U) << "all have left";
}

TEST_P(SharedDecodeTest, PicturesOutliveWhoLeaves) {
  const auto& alone = AllAlone(*engine, GetParam());
  for (const std::size_t leaves : {0U, 2U}) {
    Show show(*engine, GetParam(), {.decoders = Patient(), .pictures = Roomy()}, kAllKinds);
    show.on_picture = [&](double seconds) {
      if (seconds > 5) show.session(leaves).Cancel();
    };
    const auto outcomes = show.Run();
    for (std::size_t i = 0; i < alone.size(); ++i) {
      if (i == leaves) continue;
      EXPECT_EQ(outcomes[i].snapshot.state, StreamState::kDone);
      EXPECT_EQ(HashOf(outcomes[i].bytes), HashOf(alone[i].bytes)) << "viewer " << i;
    }
  }
}

// All kinds of streams make the same bytes together as alone; what they decode of it then.
double ShareDecodedTogether(Engine& engine, const ShowCase& shown) {
  const auto alone = Show(engine, shown, {}, kAllKinds).Run();
  const auto store = Roomy();
  const auto together =
      Show(engine, shown, {.decoders = Patient(), .pictures = store}, kAllKinds).Run();
  ExpectTheSame(together, alone);
  EXPECT_EQ(store->bytes(), 0U) << "all have left";
  return static_cast<double>(DecodedBy(together)) / static_cast<double>(DecodedBy(alone));
}

// Where no cut is closed, streams cut their runs at the same places, each eight seconds, and share
// a decoder from the run after the first one where they met.
TEST(SharedRunsTest, OneDecodeWhereGopsAreOpenOrFiltersLookOverThem) {
  const auto engine = MakeEngine("hearth", 2);
  for (const bool interlaced : {false, true}) {
    SCOPED_TRACE(interlaced);
    const ShowCase shown{.movie = "open-gop-480p.ts",
                         .whole_units = interlaced,
                         .seconds = 26,
                         .interlaced = interlaced};
    // The last ten seconds once, those before by three: the presentation is one.
    EXPECT_THAT(ShareDecodedTogether(*engine, shown), Lt(0.6));
  }
}

// A camera whose pictures are JPEGs: each is a GOP, and all use the same decoders.
TEST(SharedKeysTest, OneDecodeWhereAllAreKeyPictures) {
  const std::string camera =
      testing::TempDir() + "gopmill_camera_" + std::to_string(getpid()) + ".mkv";
  const std::string make =
      "ffmpeg -nostdin -v error -y -i movies/files/modern-720p.mp4 -t 8 "
      "-vf scale=320:180 -c:v mjpeg -q:v 3 -c:a copy " +
      camera;
  ASSERT_EQ(std::system(make.c_str()), 0);
  const auto engine = MakeEngine("hearth", 2);
  for (const bool whole_units : {false, true}) {
    SCOPED_TRACE(whole_units);
    const ShowCase shown{.movie = camera.c_str(), .whole_units = whole_units};
    EXPECT_THAT(ShareDecodedTogether(*engine, shown), Lt(0.4));
  }
  std::remove(camera.c_str());
}

// Streams that are not paced are too far apart for a store of eight pictures.
TEST_P(SharedDecodeTest, WhoNeedsPicturesThatAreGoneDecodesThemItself) {
  const auto& alone = AllAlone(*engine, GetParam());
  const auto small = std::make_shared<PictureStore>(1);
  const auto together =
      Show(*engine, GetParam(), {.decoders = Patient(), .pictures = small}, kAllKinds).Run();
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(together[i].snapshot.state, StreamState::kDone);
    EXPECT_EQ(HashOf(together[i].bytes), HashOf(alone[i].bytes)) << "viewer " << i;
  }
}

// One worker: nobody else could make again what fails.
TEST_P(SharedDecodeTest, WhoNeedsPicturesThatAreGoneNeedsNoOtherWorker) {
  const auto& alone = AllAlone(*engine, GetParam());
  const auto one_worker = MakeEngine("hearth", 1);
  const auto small = std::make_shared<PictureStore>(1);
  const auto together =
      Show(*one_worker, GetParam(), {.decoders = Patient(), .pictures = small}, kAllKinds).Run();
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(together[i].snapshot.state, StreamState::kDone);
    EXPECT_EQ(HashOf(together[i].bytes), HashOf(alone[i].bytes)) << "viewer " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Units, SharedDecodeTest,
                         testing::Values(ShowCase{"modern-720p.mp4", false},
                                         ShowCase{"modern-720p.mp4", true}),
                         [](const auto& shown) {
                           return shown.param.whole_units ? "Whole" : "InPieces";
                         });

}  // namespace
}  // namespace gopmill::test
