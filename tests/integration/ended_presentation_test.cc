// SPDX-License-Identifier: Apache-2.0
//
// Presentations of a live source that are over while players still have them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/thread_safety.h"
#include "server/live/live_segments.h"
#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

constexpr std::chrono::seconds kPatience(10);

// A service whose streams do nothing but what a test does with them.
class EndedPresentation : public testing::Test {
 protected:
  EndedPresentation() {
    options_.idle = std::chrono::hours(1);
    segments_.emplace(
        options_, engine_->scheduler(),
        LiveHooks{.find = [this](const std::string&) { return Result(live_); },
                  .admit = [this](SessionSpec spec) { return Admit(std::move(spec)); },
                  .cancel = [](StreamId) {},
                  .runs = [this](StreamId) { return streams_run_.load(); },
                  .observer = nullptr});
    EXPECT_TRUE(segments_->Start().ok());
    const auto claim = live_->Acquire(false);
    EXPECT_TRUE(claim.ok());
    claim_ = *claim;
    Publish();  // it is known from now on what the source is made of
  }
  ~EndedPresentation() override { segments_->Stop(); }

  // The whole movie at once, as a publisher that stays.
  void Publish() {
    auto movie = OpenMovie("sync-720p.mp4")({});
    ASSERT_TRUE(movie.ok());
    EXPECT_TRUE(live_->Run(claim_, **movie).ok());
  }
  // Asks for the master playlist of one rendition; its stream once it has begun, or nothing and
  // `refusal` says why.
  std::optional<SessionSpec> Ask(int width) {
    const auto told = std::make_shared<std::optional<std::string>>();
    segments_->Open({.path = "live/cam",
                     .name = "master.m3u8",
                     .params = {{"width", std::to_string(width)}, {"bitrate", "80k"}},
                     .if_none_match = {}},
                    [this, told](const Result<MediaPart>& part) {
                      const MutexLock lock(mutex_);
                      *told = part.ok() ? "" : part.error().message;
                      changed_.NotifyAll();
                    });
    const TimePoint end = SteadyNow() + kPatience;
    const MutexLock lock(mutex_);
    while (begun_.empty() && !*told && SteadyNow() < end) changed_.WaitFor(mutex_, kPatience);
    refusal = told->value_or("");
    if (begun_.empty()) return std::nullopt;
    SessionSpec spec = std::move(begun_.front());
    begun_.pop_front();
    return spec;
  }
  void AwaitWaiting(std::size_t count) {
    const TimePoint end = SteadyNow() + kPatience;
    while (segments_->stats().waiting != count && SteadyNow() < end) std::this_thread::yield();
    EXPECT_EQ(segments_->stats().waiting, count);
  }
  static void End(SessionSpec spec) { spec.sink->Finish({.status = OkStatus(), .measures = {}}); }

  std::string refusal;
  const std::shared_ptr<LiveSource> live_ = std::make_shared<LiveSource>(kPatience);
  std::atomic<bool> streams_run_ = false;  // whether those whose sinks were told the end still do

 private:
  Result<StreamId> Admit(SessionSpec spec) {
    const MutexLock lock(mutex_);
    begun_.push_back(std::move(spec));
    changed_.NotifyAll();
    return StreamId{++streams_};
  }

  std::unique_ptr<Engine> engine_ = MakeEngine("hearth", 1);
  LiveSegmentOptions options_;
  LiveSource::Claim claim_ = 0;
  Mutex mutex_;  // guards what follows
  CondVar changed_;
  std::deque<SessionSpec> begun_ GOPMILL_GUARDED_BY(mutex_);
  std::uint64_t streams_ GOPMILL_GUARDED_BY(mutex_) = 0;

 protected:
  std::optional<LiveSegments> segments_;
};

// Else a camera that is fetched on demand would go on for nobody.
TEST_F(EndedPresentation, DoesNotReadItsSource) {
  auto spec = Ask(160);
  ASSERT_TRUE(spec) << refusal;
  auto opened = std::async(std::launch::async, [&] { return spec->open_packets({}); });
  while (live_->readers() == 0) std::this_thread::yield();
  Publish();
  auto source = opened.get();
  ASSERT_TRUE(source.ok()) << source.error().ToString();
  source = Error{.code = Code::kCancelled, .message = "The stream has ended."};
  EXPECT_EQ(live_->readers(), 1U);
  End(*std::move(spec));
  const TimePoint end = SteadyNow() + kPatience;
  while (live_->readers() > 0 && SteadyNow() < end) std::this_thread::yield();
  EXPECT_EQ(live_->readers(), 0U);
}

// Its ladder would be cut to what those leave over that end in a moment.
TEST_F(EndedPresentation, BeginsAnewOnceItsStreamsAreGone) {
  streams_run_ = true;
  auto first = Ask(160);
  ASSERT_TRUE(first) << refusal;
  End(*std::move(first));
  AwaitWaiting(0);
  auto again = std::async(std::launch::async, [this] { return Ask(160); });
  // Longer than it takes to notice that none would run.
  EXPECT_EQ(again.wait_for(std::chrono::seconds(1)), std::future_status::timeout);
  EXPECT_EQ(segments_->stats().started, 1U);
  AwaitWaiting(1);
  streams_run_ = false;
  EXPECT_TRUE(again.get()) << refusal;
}

TEST_F(EndedPresentation, MakesRoomForOthers) {
  std::vector<SessionSpec> run;
  const auto count = static_cast<int>(kMaxLivePresentations);
  for (int i = 0; i < count; ++i) {
    auto spec = Ask(160 + 2 * i);
    ASSERT_TRUE(spec) << refusal;
    run.push_back(*std::move(spec));
  }
  EXPECT_FALSE(Ask(160 + 2 * count)) << "all of them run";
  EXPECT_THAT(refusal, testing::HasSubstr("Too many presentations"));
  End(std::move(run.back()));
  EXPECT_TRUE(Ask(160 + 2 * count)) << refusal;
}

}  // namespace
}  // namespace gopmill::test
