// SPDX-License-Identifier: Apache-2.0
//
// What a live presentation declares, of the pictures of a real movie at times of our own.
#include "server/live/live_presentation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <optional>

#include "base/utc_time.h"
#include "tests/integration/live_setup.h"
#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

using testing::HasSubstr;

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// One rendition, a segment for each GOP.
class LivePresentationTest : public testing::Test {
 protected:
  void SetUp() override {
    auto source = OpenMovie("sync-720p.mp4")({});
    ASSERT_TRUE(source.ok());
    const SourceInfo& info = *(*source)->info();
    tick_ = info.video.time_base;
    const MuxTrack track{.kind = TrackKind::kVideo,
                         .parameters = info.video.parameters,
                         .time_base = tick_,
                         .frame_rate = info.video.fps};
    while (gops_.size() < 5) {
      av::Packet packet = av::NewPacket();
      const auto state = (*source)->Read(*packet);
      ASSERT_TRUE(state.ok() && *state != PacketSource::ReadState::kEnd);
      if (*state != PacketSource::ReadState::kVideo) continue;
      if ((packet->flags & AV_PKT_FLAG_KEY) != 0) gops_.emplace_back();
      gops_.back().push_back(std::move(packet));
    }
    presentation_ = std::make_shared<LivePresentation>(OneRendition(clock_));
    sink_ = presentation_->MakeSink(0);
    auto output = sink_->OpenOutput(Container::kMp4, std::span(&track, 1));
    ASSERT_TRUE(output.ok()) << output.error().ToString();
    output_ = *std::move(output);
  }
  // The first picture of the next GOP comes at `wall`.
  void Arrive(WallTime wall, bool after_gap = false) {
    const std::int64_t at = Rescale(gops_.front().front()->pts, tick_, kNanos);
    clock_->OnPicture(at, at, wall, after_gap);
  }
  void WriteGop() {
    for (av::Packet& packet : gops_.front()) {
      ASSERT_TRUE(output_->Write(0, std::move(packet)).ok());
    }
    gops_.pop_front();
  }
  void EndSegment() { ASSERT_TRUE(output_->EndUnit().ok()); }
  // Without bytes while there is none.
  MediaPart Ask(PartKind kind) {
    LiveAsk ask;
    ask.name = {.kind = kind};
    const auto answer = presentation_->Answer(ask);
    return answer ? answer->value() : MediaPart{};
  }

  Rational tick_;
  std::deque<std::vector<av::Packet>> gops_;
  const std::shared_ptr<LiveClock> clock_ = std::make_shared<LiveClock>();
  std::shared_ptr<LivePresentation> presentation_;
  std::unique_ptr<StreamSink> sink_;
  std::unique_ptr<PacketOutput> output_;
};

// Segments that are there before their pictures have come are not late at all.
TEST_F(LivePresentationTest, ABreakOfTheSourceDoesNotHoldDashBack) {
  const WallTime begin = WallTime::clock::now() - std::chrono::minutes(1);
  Arrive(begin);
  WriteGop();
  Arrive(begin + std::chrono::hours(1), true);
  EndSegment();
  EXPECT_FALSE(Ask(PartKind::kManifest).bytes) << "how long a segment takes is not known";
  WriteGop();
  EndSegment();
  EXPECT_THAT(*Ask(PartKind::kManifest).bytes,
              HasSubstr("availabilityStartTime=\"" + UtcMillis(begin + kDashMargin)));
}

// One that breaks off again and again has a manifest nevertheless.
TEST_F(LivePresentationTest, TwoBreaksDoNotKeepAManifestBack) {
  const WallTime begin = WallTime::clock::now() - std::chrono::minutes(1);
  Arrive(begin);
  for (int i = 0; i < 2; ++i) {
    WriteGop();
    Arrive(begin + std::chrono::seconds(30), true);
    EndSegment();
  }
  const MediaPart manifest = Ask(PartKind::kManifest);
  ASSERT_TRUE(manifest.bytes);
  EXPECT_THAT(*manifest.bytes,
              HasSubstr("availabilityStartTime=\"" + UtcMillis(begin + kDashMargin)));
}

// Over a second of pictures at once, and behind them some that came at once as well.
TEST_F(LivePresentationTest, APeriodIsOverWhenALaterOneBegins) {
  const WallTime begin = WallTime::clock::now() - std::chrono::minutes(1);
  Arrive(begin);
  for (int gop = 0; gop < 3; ++gop) {  // of 0.1, 0.9 and 0.1 s
    if (gop > 0) EndSegment();
    WriteGop();
  }
  Arrive(begin + std::chrono::milliseconds(50), true);
  EndSegment();
  WriteGop();
  EndSegment();
  const MediaPart manifest = Ask(PartKind::kManifest);
  ASSERT_TRUE(manifest.bytes);
  const std::string first = "<Period id=\"0\" start=\"PT0.000S\" duration=\"PT0.050S\"";
  const std::string second = "<Period id=\"1\" start=\"PT0.050S\"";
  EXPECT_THAT(*manifest.bytes, HasSubstr(first));
  ASSERT_THAT(*manifest.bytes, HasSubstr(second));
  EXPECT_EQ(Count(manifest.bytes->substr(0, manifest.bytes->find(second)), "<S t="), 2)
      << "a segment of pictures and its thumbnail, and none that is never played";
}

TEST_F(LivePresentationTest, TheSegmentThatIsBeingMadeCanBeWaitedFor) {
  Arrive(WallTime::clock::now());
  WriteGop();
  const auto ask = [&](std::int64_t number) {
    LiveAsk segment;
    segment.name = {.kind = PartKind::kSegment, .number = number};
    return presentation_->Answer(segment);
  };
  EXPECT_FALSE(ask(0));
  EXPECT_EQ(ask(1)->error().code, Code::kNotFound);
  EndSegment();
  EXPECT_TRUE(ask(0)->value().bytes);
  EXPECT_FALSE(ask(1));
  EXPECT_EQ(ask(2)->error().code, Code::kNotFound) << "farther ahead than the next one";
  sink_->Finish({});
  EXPECT_EQ(ask(1)->error().code, Code::kNotFound) << "there will be none";
}

TEST_F(LivePresentationTest, NoTwoManifestsHaveTheSameTag) {
  Arrive(WallTime::clock::now());
  WriteGop();
  EndSegment();
  const MediaPart first = Ask(PartKind::kManifest);
  EXPECT_NE(first.etag, Ask(PartKind::kManifest).etag) << "they tell the time";
  EXPECT_EQ(Ask(PartKind::kMaster).etag, Ask(PartKind::kMaster).etag);
}

}  // namespace
}  // namespace gopmill::test
