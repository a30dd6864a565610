// SPDX-License-Identifier: Apache-2.0
//
// Thumbnails of a live presentation: made once for all who ask, few at a time, of a real movie's
// key pictures.
#include "server/live/live_thumbnails.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <optional>
#include <set>
#include <thread>

#include "server/live/live_presentation.h"
#include "tests/integration/live_setup.h"
#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

using testing::SizeIs;

struct Order {
  std::shared_ptr<const StreamPlan> plan;
  std::shared_ptr<const av::Packet> key;
  LiveThumbnails::Done done;
};

// The pictures of a movie as the only rendition, in segments of one GOP each.
class LiveThumbnailsTest : public testing::Test {
 protected:
  void Begin(std::size_t max_bytes = std::size_t{64} << 20U) {
    LiveSetup setup = OneRendition(std::make_shared<LiveClock>());
    setup.max_bytes = max_bytes;
    setup.clock->OnPicture(0, 0, {}, false);
    setup.thumbnail_patience = patience_;
    setup.on_change = [this] { ++changes_; };
    setup.make_thumbnail = [this](auto plan, auto key, auto done) {
      if (refuse_) return Status(Error{.code = Code::kUnavailable, .message = "Closed."});
      orders_.push_back({std::move(plan), std::move(key), std::move(done)});
      return OkStatus();
    };
    presentation_ = std::make_shared<LivePresentation>(std::move(setup));
    Cut(max_bytes);
  }
  void Cut(std::size_t max_bytes) {
    auto source = OpenMovie("sync-720p.mp4")({});
    ASSERT_TRUE(source.ok());
    const SourceInfo& info = *(*source)->info();
    const MuxTrack track{.kind = TrackKind::kVideo,
                         .parameters = info.video.parameters,
                         .time_base = info.video.time_base,
                         .frame_rate = info.video.fps};
    sink_ = presentation_->MakeSink(0);
    auto output = sink_->OpenOutput(Container::kMp4, std::span(&track, 1));
    ASSERT_TRUE(output.ok()) << output.error().ToString();
    for (bool first = true;; first = false) {
      av::Packet packet = av::NewPacket();
      const auto state = (*source)->Read(*packet);
      ASSERT_TRUE(state.ok());
      if (*state == PacketSource::ReadState::kEnd) break;
      if (*state != PacketSource::ReadState::kVideo) continue;
      const bool key = (packet->flags & AV_PKT_FLAG_KEY) != 0;
      if (key && !first) {
        ASSERT_TRUE((*output)->EndUnit().ok());
      }
      ASSERT_TRUE((*output)->Write(0, std::move(packet)).ok());
    }
    ASSERT_TRUE((*output)->Finish().ok());
    ASSERT_LE(presentation_->bytes(), max_bytes);
  }
  std::optional<Result<MediaPart>> Ask(std::int64_t number, const std::string& has = {}) {
    LiveAsk ask;
    ask.name = {.kind = PartKind::kSegment, .track = PartTrack::kThumbnails, .number = number};
    ask.if_none_match = has;
    return presentation_->Answer(ask);
  }
  MediaPart Master() {
    LiveAsk ask;
    ask.name = {.kind = PartKind::kMaster};
    return presentation_->Answer(ask)->value();
  }
  std::optional<Code> CodeOf(std::int64_t number) {
    const auto answer = Ask(number);
    if (!answer || answer->ok()) return std::nullopt;
    return answer->error().code;
  }

  std::shared_ptr<LivePresentation> presentation_;
  std::unique_ptr<StreamSink> sink_;
  std::deque<Order> orders_;
  bool refuse_ = false;
  Duration patience_ = std::chrono::hours(1);
  int changes_ = 0;
};

TEST_F(LiveThumbnailsTest, OneIsMadeForAllWhoAskAndKept) {
  Begin();
  const std::size_t bytes = presentation_->bytes();
  EXPECT_THAT(orders_, SizeIs(0)) << "nobody has asked";
  EXPECT_FALSE(Ask(2));
  EXPECT_FALSE(Ask(2)) << "who waits asks again";
  ASSERT_THAT(orders_, SizeIs(1));
  const int changes = changes_;
  orders_.front().done(std::string(1000, 'j'));
  EXPECT_GT(changes_, changes) << "who waits hears of it";
  const auto answer = Ask(2);
  ASSERT_TRUE(answer && answer->ok());
  EXPECT_EQ(*answer->value().bytes, std::string(1000, 'j'));
  EXPECT_EQ(answer->value().content_type, "image/jpeg");
  EXPECT_EQ(presentation_->bytes(), bytes + 1000);
  EXPECT_TRUE(Ask(2, answer->value().etag)->value().not_modified);
  EXPECT_THAT(orders_, SizeIs(1));
}

TEST_F(LiveThumbnailsTest, WhoHasItAlreadyCostsNothing) {
  Begin();
  EXPECT_TRUE(Ask(3, "*")->value().not_modified);
  EXPECT_THAT(orders_, SizeIs(0));
}

TEST_F(LiveThumbnailsTest, FewAreMadeAtATimeAndTheOthersWait) {
  Begin();
  for (std::int64_t number = 0; number < 8; ++number) EXPECT_FALSE(Ask(number));
  ASSERT_THAT(orders_, SizeIs(kMaxThumbnailsMaking));
  orders_[1].done(std::string("j"));
  for (std::int64_t number = 0; number < 8; ++number) Ask(number);
  EXPECT_THAT(orders_, SizeIs(kMaxThumbnailsMaking + 1));
}

TEST_F(LiveThumbnailsTest, WhatDoesNotExistIsNotMade) {
  Begin();
  EXPECT_EQ(CodeOf(999'999), Code::kNotFound);
  EXPECT_EQ(CodeOf(-1), Code::kNotFound);
  LiveAsk second;
  second.name = {.kind = PartKind::kPlaylist, .track = PartTrack::kThumbnails, .rendition = 1};
  EXPECT_EQ(presentation_->Answer(second)->error().code, Code::kNotFound);
  EXPECT_THAT(orders_, SizeIs(0));
}

TEST_F(LiveThumbnailsTest, WhyThereIsNoneIsSaid) {
  Begin();
  EXPECT_FALSE(Ask(1));
  orders_.front().done(Error{.code = Code::kCorrupt, .message = "Broken."});
  EXPECT_EQ(CodeOf(1), Code::kCorrupt);
  EXPECT_EQ(CodeOf(1), Code::kCorrupt);
  EXPECT_THAT(orders_, SizeIs(1)) << "it would fail again";
  refuse_ = true;
  EXPECT_EQ(CodeOf(2), Code::kUnavailable);
}

TEST_F(LiveThumbnailsTest, WhatMayPassIsTriedAgainLater) {
  Begin();
  EXPECT_FALSE(Ask(1));
  orders_.front().done(Cancelled());
  EXPECT_EQ(CodeOf(1), Code::kCancelled) << "who waited hears of it";
  EXPECT_THAT(orders_, SizeIs(1)) << "not again and again";
  orders_.clear();
  patience_ = Duration::zero();
  Begin();
  for (const Code code : {Code::kCancelled, Code::kInternal, Code::kUnavailable}) {
    EXPECT_FALSE(Ask(1));
    EXPECT_FALSE(Ask(1)) << "it is being made";
    ASSERT_THAT(orders_, SizeIs(1));
    const LiveThumbnails::Done done = orders_.front().done;
    orders_.clear();
    done(Error{.code = code, .message = "Not now."});
  }
  EXPECT_FALSE(Ask(1));
  ASSERT_THAT(orders_, SizeIs(1));
  orders_.front().done(std::string("j"));
  EXPECT_EQ(*Ask(1)->value().bytes, "j");
}

TEST_F(LiveThumbnailsTest, ThoseOfAPresentationThatIsGoneAreForgotten) {
  Begin();
  EXPECT_FALSE(Ask(0));
  sink_.reset();
  presentation_.reset();
  orders_.front().done(std::string("j"));
}

TEST_F(LiveThumbnailsTest, TheyCountInTheBoundOnBytes) {
  Begin();
  const std::size_t bytes = presentation_->bytes();
  Begin(bytes + 500);
  orders_.clear();
  EXPECT_FALSE(Ask(5));
  const MediaPart before = Master();
  orders_.front().done(std::string(1000, 'j'));
  EXPECT_NE(*Master().bytes, *before.bytes) << "the mean of the key frames is another";
  EXPECT_NE(Master().etag, before.etag);
  EXPECT_LE(presentation_->bytes(), bytes + 500);
  EXPECT_EQ(CodeOf(0), Code::kNotFound) << "the oldest has made room";
  EXPECT_TRUE(Ask(5)->ok());
}

class Counter : public UnitObserver {
 public:
  void OnEnded(const UnitLife& life) noexcept override {
    const bool whole = life.spec.frames == 1 && life.report.cpu > Duration::zero();
    if (whole && life.report.outcome == JobOutcome::kDone) ++done;
  }
  void OnReleased(UnitId /*unit*/, TimePoint /*when*/) noexcept override {}

  std::atomic<std::size_t> done = 0;
};

// By workers, whatever worker it is: equal bytes for equal pictures, and pictures that differ.
TEST_F(LiveThumbnailsTest, WorkersMakeJpegsOfTheRightSize) {
  Begin();
  for (std::int64_t number = 0; number < 4; ++number) ASSERT_FALSE(Ask(number));
  std::vector<std::string> made[2];
  for (auto& run : made) {
    const auto engine = MakeEngine("hearth", 2);
    const auto counter = std::make_shared<Counter>();
    LiveThumbnails thumbnails(engine->scheduler(), counter);
    const StreamId stream = thumbnails.NewStream();
    run.resize(orders_.size());
    std::atomic<std::size_t> told = 0;
    for (std::size_t i = 0; i < orders_.size(); ++i) {
      const Status status =
          thumbnails.Make({.plan = orders_[i].plan, .key = orders_[i].key, .stream = stream},
                          [&run, &told, i](Result<std::string> jpeg) {
                            if (jpeg.ok()) run[i] = *std::move(jpeg);
                            ++told;
                          });
      ASSERT_TRUE(status.ok());
    }
    while (told < orders_.size()) std::this_thread::yield();
    thumbnails.Stop();
    EXPECT_EQ(thumbnails.made(), orders_.size());
    EXPECT_EQ(counter->done, orders_.size()) << "who watches hears of each";
  }
  EXPECT_TRUE(made[0] == made[1]);
  EXPECT_GT(std::set<std::string>(made[0].begin(), made[0].end()).size(), 1U) << "one for all";
  for (const std::string& jpeg : made[0]) {
    const std::string frame("\xff\xc0\x00\x11\x08\x00\x6c\x00\xc0", 9);  // 108 lines of 192
    EXPECT_TRUE(jpeg.starts_with("\xff\xd8") && jpeg.ends_with("\xff\xd9"));
    EXPECT_NE(jpeg.find(frame), std::string::npos);
  }
}

TEST_F(LiveThumbnailsTest, AStopTellsAllThatWait) {
  Begin();
  ASSERT_FALSE(Ask(0));
  const auto engine = MakeEngine("hearth", 1);
  LiveThumbnails thumbnails(engine->scheduler());
  std::atomic<int> told = 0;
  const LiveThumbnails::Order order{
      .plan = orders_[0].plan, .key = orders_[0].key, .stream = thumbnails.NewStream()};
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(thumbnails.Make(order, [&told](auto) { ++told; }).ok());
  }
  thumbnails.Stop();
  EXPECT_EQ(told, 20);
  EXPECT_EQ(thumbnails.Make(order, [](auto) {}).error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace gopmill::test
