// SPDX-License-Identifier: Apache-2.0
#include "server/segments/segment_tasks.h"

#include <gtest/gtest.h>

#include <vector>

namespace gopmill {
namespace {

class SegmentTasksTest : public ::testing::Test {
 protected:
  void Add(TaskPool pool, const std::string& place, PartTicket ticket = 0,
           const void* making = nullptr) {
    tasks_.Add(pool, {.place = place, .run = [] {}, .ticket = ticket, .making = making});
  }
  void Read(const std::string& place, std::int64_t bytes) {
    tasks_.Add(TaskPool::kReading, {.place = place, .run = [] {}, .bytes = bytes});
  }
  void ReadWhole(const std::string& place) {
    tasks_.Add(TaskPool::kReading, {.place = place, .run = [] {}, .whole = true});
  }
  // Those that may run at once, and run then.
  std::vector<std::string> TakeAll(TaskPool pool) {
    std::vector<std::string> places;
    while (auto task = tasks_.Take(pool)) {
      places.push_back(task->place);
      running_.push_back(*std::move(task));
    }
    return places;
  }

  SegmentTasks tasks_;
  std::vector<SegmentTask> running_;
};

using Places = std::vector<std::string>;

TEST_F(SegmentTasksTest, AFolderHasNotAllLookUps) {
  for (const char* place : {"hung", "hung", "hung", "hung", "well"}) {
    Add(TaskPool::kAnswering, place);
  }
  EXPECT_EQ(TakeAll(TaskPool::kAnswering), (Places{"hung", "hung", "well"}));
  tasks_.Ended(TaskPool::kAnswering, running_.front());
  EXPECT_EQ(TakeAll(TaskPool::kAnswering), Places{"hung"});
}

TEST_F(SegmentTasksTest, AMovieHasNotAllReadsOfItsFolderNorAFolderAll) {
  for (const char* place : {"disk/a", "disk/a", "disk/a", "disk/b", "disk/b", "disk/c", "alone"}) {
    Add(TaskPool::kReading, place);
  }
  EXPECT_EQ(TakeAll(TaskPool::kReading), (Places{"disk/a", "disk/a", "disk/b", "disk/b", "alone"}));
  tasks_.Ended(TaskPool::kReading, running_.front());
  EXPECT_EQ(TakeAll(TaskPool::kReading), Places{"disk/a"}) << "the first that waits";
}

// Reading a movie takes minutes, its packets no time: who opens movies keeps nobody from watching.
TEST_F(SegmentTasksTest, MoviesThatAreReadToTheEndLeaveRoomForPackets) {
  for (const char* place : {"disk/a", "disk/b", "disk/c", "disk/d"}) ReadWhole(place);
  Add(TaskPool::kReading, "disk/e");
  EXPECT_EQ(TakeAll(TaskPool::kReading), (Places{"disk/a", "disk/b", "disk/e"}));
  tasks_.Ended(TaskPool::kReading, running_.front());
  EXPECT_EQ(TakeAll(TaskPool::kReading), Places{"disk/c"}) << "the first that waits";
}

TEST_F(SegmentTasksTest, AMovieIsReadToItsEndOncePerTimeAndPlayedMeanwhile) {
  for (int i = 0; i < 2; ++i) ReadWhole("disk/a");
  Add(TaskPool::kReading, "disk/a");
  EXPECT_EQ(TakeAll(TaskPool::kReading), (Places{"disk/a", "disk/a"}));
  EXPECT_TRUE(running_[0].whole);
  EXPECT_FALSE(running_[1].whole);
}

TEST_F(SegmentTasksTest, MoviesThatAreReadToTheEndHaveNotAllThreads) {
  for (const char* place : {"a", "b", "c", "d", "e", "f"}) ReadWhole(place);
  Add(TaskPool::kReading, "g");
  EXPECT_EQ(TakeAll(TaskPool::kReading), (Places{"a", "b", "c", "d", "g"}));
  static_assert(kMaxWholeReads == 4 && kReadThreads == 6);
}

// Those of jobs that wait for a worker count as those that are being read.
TEST_F(SegmentTasksTest, ASegmentIsNotReadWhileThePacketsOfOthersAreTooMany) {
  const auto take = [&](const PacketBytes& out = {}) {
    return tasks_.Take(TaskPool::kReading, out);
  };
  Read("a", 2 * kMaxMakingBytes);
  Read("b", kMaxMakingBytes / 4);
  Read("c", 0);
  const auto large = take();
  ASSERT_TRUE(large) << "one is always let through";
  const auto other = take({{"b", kMaxMakingBytes / 2}});
  ASSERT_TRUE(other);
  EXPECT_EQ(other->place, "c") << "what reads no segment waits for none";
  tasks_.Ended(TaskPool::kReading, *large);
  EXPECT_FALSE(take({{"b", kMaxMakingBytes}}));
  const auto last = take({{"b", kMaxMakingBytes - 1}});
  ASSERT_TRUE(last);
  EXPECT_EQ(last->place, "b");
}

TEST_F(SegmentTasksTest, LargeSegmentsOfAMovieKeepOutNoOthers) {
  const PacketBytes out{{"large", kMaxMakingBytes}};
  Read("large", kMaxMakingBytes / 4);
  EXPECT_FALSE(tasks_.Take(TaskPool::kReading, out));
  Read("large", kMaxMakingBytes / kSmallMaking);
  Read("other", kMaxMakingBytes / 4);
  EXPECT_EQ(tasks_.Take(TaskPool::kReading, out)->bytes, kMaxMakingBytes / kSmallMaking);
  EXPECT_EQ(tasks_.Take(TaskPool::kReading, out)->place, "other");
  Read("third", kMaxMakingBytes / 4);
  EXPECT_FALSE(tasks_.Take(TaskPool::kReading, {{"large", 2 * kMaxMakingBytes}}));
}

TEST_F(SegmentTasksTest, WhatADiskThatHangsHoldsDoesNotCountForOthers) {
  Read("hangs/a", 2 * kMaxMakingBytes);
  Read("hangs/b", kMaxMakingBytes / 4);
  ASSERT_TRUE(tasks_.Take(TaskPool::kReading));
  EXPECT_FALSE(tasks_.Take(TaskPool::kReading));
  for (int i = 0; i < 2; ++i) {
    Read("good/c", kMaxMakingBytes / 4);
    ASSERT_TRUE(tasks_.Take(TaskPool::kReading));
  }
}

TEST_F(SegmentTasksTest, WhatIsMadeWaitsForNoPlace) {
  for (int i = 0; i < 20; ++i) Add(TaskPool::kFinishing, "");
  EXPECT_EQ(TakeAll(TaskPool::kFinishing).size(), 20U);
}

TEST_F(SegmentTasksTest, ForgetsWhatNobodyWaitsFor) {
  const int segment = 0;
  Add(TaskPool::kAnswering, "a", 7);
  Add(TaskPool::kReading, "a/b", 0, &segment);
  EXPECT_EQ(tasks_.WaitingAt(TaskPool::kAnswering, "a"), 1U);
  const auto removed = [&](TaskPool pool, const std::function<bool(const SegmentTask&)>& which) {
    return tasks_.Remove(pool, which).size();
  };
  EXPECT_EQ(removed(TaskPool::kAnswering, [](const auto& t) { return t.ticket == 8; }), 0U);
  EXPECT_EQ(removed(TaskPool::kAnswering, [](const auto& t) { return t.ticket == 7; }), 1U);
  EXPECT_FALSE(tasks_.empty());
  EXPECT_EQ(removed(TaskPool::kReading, [&](const auto& t) { return t.making == &segment; }), 1U);
  EXPECT_TRUE(tasks_.empty());
}

TEST_F(SegmentTasksTest, AreNotOverWhileOneRuns) {
  Add(TaskPool::kReading, "a");
  TakeAll(TaskPool::kReading);
  EXPECT_FALSE(tasks_.empty());
  tasks_.Ended(TaskPool::kReading, running_.front());
  EXPECT_TRUE(tasks_.empty());
}

TEST(FolderOf, IsThatAtTheTop) {
  EXPECT_EQ(FolderOf("disk/films/a.mkv"), "disk");
  EXPECT_EQ(FolderOf("a.mkv"), "a.mkv");
}

}  // namespace
}  // namespace gopmill
