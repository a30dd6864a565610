// SPDX-License-Identifier: Apache-2.0
//
// What an observer hears of segments that are made on demand, of a real movie.
#include "server/session/segment_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <utility>
#include <vector>

#include "server/session/media_service.h"
#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

using testing::SizeIs;

class Notes : public UnitObserver {
 public:
  void OnEnded(const UnitLife& life) noexcept override {
    const MutexLock lock(mutex_);
    lives_.push_back(life);
  }
  void OnReleased(UnitId /*unit*/, TimePoint /*when*/) noexcept override { ++released; }
  std::vector<UnitLife> Take() {
    const MutexLock lock(mutex_);
    return std::exchange(lives_, {});
  }

  std::atomic<int> released = 0;

 private:
  Mutex mutex_;
  std::vector<UnitLife> lives_ GOPMILL_GUARDED_BY(mutex_);
};

// Keeps no segments, so that each request is a job.
class ObservedSegments : public testing::Test {
 protected:
  void SetUp() override {
    ServerConfig config;
    config.library = "movies/files";
    config.scheduler.workers = 2;
    config.scheduler.classes = "live:3:0:0:5000,batch:1";
    config.segments.cache_bytes = 0;
    auto created = MediaService::Create(config, notes_);
    ASSERT_TRUE(created.ok()) << created.error().ToString();
    service_ = std::move(created).value();
  }
  // The job's report comes before the answer.
  UnitLife Make(const std::string& name, const std::string& service_class = "live") {
    std::promise<Result<MediaPart>> answer;
    service_->OpenPart({.path = "sync-720p.mp4",
                        .name = name,
                        .params = {{"width", "192"},
                                   {"bitrate", "60k"},
                                   {"preset", "ultrafast"},
                                   {"class", service_class}},
                        .if_none_match = ""},
                       [&](Result<MediaPart> part) { answer.set_value(std::move(part)); });
    const Result<MediaPart> part = answer.get_future().get();
    EXPECT_TRUE(part.ok()) << part.error().ToString();
    const std::vector<UnitLife> lives = notes_->Take();
    EXPECT_THAT(lives, SizeIs(1)) << name;
    return lives.empty() ? UnitLife{} : lives.front();
  }

  const std::shared_ptr<Notes> notes_ = std::make_shared<Notes>();
  std::unique_ptr<MediaService> service_;
};

TEST_F(ObservedSegments, EachThatIsMadeIsAUnitOfItsRendition) {
  const UnitLife third = Make("v0-3.m4s"), first = Make("v0-0.m4s"), again = Make("v0-3.m4s");
  for (const UnitLife& life : {third, first, again}) {
    EXPECT_EQ(life.report.outcome, JobOutcome::kDone);
    EXPECT_EQ(life.report.unit, life.spec.unit);
    EXPECT_EQ(life.spec.unit.stream, third.spec.unit.stream);
    EXPECT_EQ(life.spec.context, third.spec.context);
    EXPECT_EQ(life.spec.frames, 60U);
    EXPECT_GT(life.spec.cost_bytes, 1000U);
    EXPECT_GT(life.report.cpu, Duration::zero());
    EXPECT_GT(life.stats.aside_cpu, Duration::zero()) << "who waits has a thread that decodes";
    EXPECT_LE(life.spec.deadline - life.report.submitted, std::chrono::seconds(5));
    EXPECT_TRUE(life.keeps_contexts);
  }
  EXPECT_LT(third.spec.unit.index, first.spec.unit.index) << "in the order of requests";
  EXPECT_LT(first.spec.unit.index, again.spec.unit.index);
  EXPECT_TRUE(third.report.cold && third.report.opening > Duration::zero());
  EXPECT_EQ(notes_->released, 0);
}

TEST_F(ObservedSegments, ClassesOfARenditionAreStreamsThatShareContexts) {
  const UnitLife live = Make("v0-1.m4s"), batch = Make("v0-1.m4s", "batch");
  EXPECT_NE(live.spec.unit.stream, batch.spec.unit.stream);
  EXPECT_EQ(live.spec.context, batch.spec.context);
  EXPECT_EQ(live.spec.service_class, 0);
  EXPECT_EQ(batch.spec.service_class, 1);
  EXPECT_EQ(batch.spec.deadline, kNoDeadline);
}

TEST_F(ObservedSegments, SoundAndThumbnailsAreUnitsOfTheirOwnStreams) {
  const UnitLife sound = Make("a0-0.m4s"), sheet = Make("t0-0.jpg"), key = Make("i0-2.m4s");
  EXPECT_FALSE(sound.keeps_contexts);
  EXPECT_FALSE(sound.report.cold);
  EXPECT_EQ(sound.spec.frames, 0U);
  EXPECT_TRUE(sheet.keeps_contexts && sheet.report.cold);
  EXPECT_EQ(key.spec.frames, 1U);
  EXPECT_NE(sound.spec.unit.stream, sheet.spec.unit.stream);
  EXPECT_NE(sheet.spec.unit.stream, key.spec.unit.stream);
}

}  // namespace
}  // namespace gopmill::test
