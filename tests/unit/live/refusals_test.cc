// SPDX-License-Identifier: Apache-2.0
//
// Who comes while the server ends is told so, and not that there are too many; who comes when there
// are too many is told that.
#include "server/api/refusals.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "scheduler/scheduler.h"
#include "scheduler/topology_hwloc.h"
#include "server/live/live_hub.h"
#include "server/live/live_segments.h"

namespace gopmill {
namespace {

TEST(Refusals, APublisherHearsThatTheServerEnds) {
  LiveHub hub;
  hub.Stop();
  const Status status = hub.Publish("news", "somewhere", {}, {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kUnavailable);
  EXPECT_EQ(status.error().message, ShuttingDown().message);
}

TEST(Refusals, APlayerOfALiveSourceHearsThatTheServerEnds) {
  auto scheduler = Scheduler::Create({.workers = 1}, DiscoverTopology({}).value(), {});
  ASSERT_TRUE(scheduler.ok());
  LiveSegments segments({}, **scheduler, {});
  segments.Stop();
  std::string told;
  segments.Open({.path = "live/news", .name = "master.m3u8", .params = {}, .if_none_match = {}},
                [&](const Result<MediaPart>& part) { told = part.error().message; });
  EXPECT_EQ(told, ShuttingDown().message);
}

std::string Numbered(const char* what, std::size_t number) { return what + std::to_string(number); }

// A publisher that says nothing until it is told to end.
class Silence {
 public:
  Result<std::unique_ptr<PacketSource>> Open(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [this] { return over_; });
    return Error{.code = Code::kIo, .message = "It is over."};
  }
  void End() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool over_ = false;
};

TEST(Refusals, OnePublisherTooManyIsRefusedUntilAnotherHasGone) {
  Silence first;
  Silence others;
  LiveHub hub;
  const auto publish = [&](std::size_t number) {
    Silence& source = number == 0 ? first : others;
    return hub.Publish(
        Numbered("cam", number), "test",
        [&source](const std::stop_token& stop) { return source.Open(stop); }, [](const auto&) {});
  };
  for (std::size_t i = 0; i < kMaxPublishers; ++i) ASSERT_TRUE(publish(i).ok()) << i;
  const Status refused = publish(kMaxPublishers);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_NE(refused.error().message.find(std::to_string(kMaxPublishers)), std::string::npos);
  EXPECT_EQ(hub.Totals().publishing, static_cast<int>(kMaxPublishers));
  first.End();
  const TimePoint end = SteadyNow() + std::chrono::seconds(10);
  while (!publish(kMaxPublishers).ok() && SteadyNow() < end) std::this_thread::yield();
  EXPECT_LT(SteadyNow(), end);
}

TEST(Refusals, OneNameTooManyTakesThePlaceOfThoseThatNobodyUses) {
  LiveHub hub;
  for (std::size_t i = 0; i < kMaxLiveNames; ++i) {
    ASSERT_TRUE(hub.Find(Numbered("idle", i)).ok()) << i;
  }
  EXPECT_TRUE(hub.Find("new").ok());
  // What is fetched is known for good.
  for (std::size_t i = 0; i < kMaxLiveNames; ++i) hub.SetPull(Numbered("fetched", i), {});
  const auto refused = hub.Find("another");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_TRUE(hub.Find(Numbered("fetched", 0)).ok());
  EXPECT_EQ(hub.Totals().pull_failures.size(), kMaxLiveNames);
}

TEST(Refusals, OneRequestTooManyForLiveSegmentsIsRefusedUntilAnotherHasGone) {
  auto scheduler = Scheduler::Create({.workers = 1}, DiscoverTopology({}).value(), {});
  ASSERT_TRUE(scheduler.ok());
  // Nobody publishes it, for as long as requests may wait.
  const auto source = std::make_shared<LiveSource>(std::chrono::minutes(1));
  LiveHooks hooks;
  hooks.find = [&](const auto&) { return source; };
  LiveSegments segments({}, **scheduler, hooks);
  ASSERT_TRUE(segments.Start().ok());
  const auto open = [&](PartCallback done) {
    return segments.Open(
        {.path = "live/news", .name = "master.m3u8", .params = {}, .if_none_match = {}},
        std::move(done));
  };
  const auto await_waiting = [&](std::size_t count) {
    const TimePoint end = SteadyNow() + std::chrono::seconds(10);
    while (segments.stats().waiting != count && SteadyNow() < end) std::this_thread::yield();
    return segments.stats().waiting == count;
  };
  PartTicket one = 0;
  for (std::size_t i = 0; i < kMaxLiveWaiting; ++i) one = open([](const auto&) {});
  ASSERT_TRUE(await_waiting(kMaxLiveWaiting));
  std::string told;
  open([&](const Result<MediaPart>& part) { told = part.error().message; });
  EXPECT_EQ(told, TooManyWait().message);
  EXPECT_EQ(segments.stats().refused, 1U);
  segments.Cancel(one);
  ASSERT_TRUE(await_waiting(kMaxLiveWaiting - 1));
  open([](const auto&) {});
  EXPECT_TRUE(await_waiting(kMaxLiveWaiting));
  EXPECT_EQ(segments.stats().refused, 1U);
}

}  // namespace
}  // namespace gopmill
