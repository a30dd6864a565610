// SPDX-License-Identifier: Apache-2.0
#include "server/segments/making_table.h"

#include <gtest/gtest.h>

#include <string>

namespace gopmill {
namespace {

class MakingTableTest : public ::testing::Test {
 protected:
  std::optional<MakingTable::Joined> Join(PartTicket ticket, const std::string& key,
                                          const std::string& path = "movie.mp4",
                                          std::uint16_t service_class = 0) {
    return table_.Join(key, {.ticket = ticket, .done = {}, .part = {}},
                       {.path = path, .name = "v0-1.m4s", .params = {}, .if_none_match = {}},
                       service_class);
  }

  MakingTable table_;
};

TEST_F(MakingTableTest, RequestsForTheSameSegmentShareIt) {
  const auto first = Join(1, "a", "movie.mp4", 3);
  const auto second = Join(2, "a", "movie.mp4", 4);
  const auto other = Join(3, "b");
  ASSERT_TRUE(first && second && other);
  EXPECT_TRUE(first->first);
  EXPECT_FALSE(second->first);
  EXPECT_EQ(first->making, second->making);
  EXPECT_EQ(first->making->service_class, 3) << "of the first who asked";
  EXPECT_EQ(first->making->part, "movie.mp4/v0-1.m4s");
  EXPECT_NE(other->making, first->making);
  EXPECT_EQ(table_.size(), 2U);
}

TEST_F(MakingTableTest, ASegmentIsGivenUpWhenTheLastHasLeft) {
  const auto making = Join(1, "a")->making;
  Join(2, "a");
  const auto one = table_.Leave(1);
  EXPECT_TRUE(one.waited);
  EXPECT_EQ(one.given_up, nullptr);
  EXPECT_FALSE(making->stop.stop_requested());
  const auto last = table_.Leave(2);
  EXPECT_TRUE(last.waited);
  EXPECT_EQ(last.given_up, making);
  EXPECT_TRUE(making->stop.stop_requested());
  EXPECT_FALSE(table_.Leave(2).waited);
  EXPECT_TRUE(Join(3, "a")->first) << "who asks from then on gets a new one";
}

TEST_F(MakingTableTest, OneThatWasGivenUpDoesNotFinishTheNext) {
  const auto old = Join(1, "a")->making;
  table_.Leave(1);
  const auto next = Join(2, "a")->making;
  EXPECT_TRUE(table_.Finish("a", *old).empty());
  EXPECT_EQ(table_.size(), 1U);
  const auto waiters = table_.Finish("a", *next);
  ASSERT_EQ(waiters.size(), 1U);
  EXPECT_EQ(waiters.front().ticket, 2U);
  EXPECT_EQ(table_.size(), 0U);
}

TEST_F(MakingTableTest, AFolderHasNotAllPlaces) {
  PartTicket ticket = 0;
  const auto join = [&](const std::string& folder) {
    ++ticket;
    return Join(ticket, std::to_string(ticket), folder + "/movie.mp4");
  };
  for (std::size_t i = 0; i < kMaxMakingInFolder; ++i) ASSERT_TRUE(join("hung"));
  EXPECT_FALSE(join("hung"));
  EXPECT_TRUE(Join(1000, "1", "hung/movie.mp4")) << "one that is being made can be joined";
  for (std::size_t i = kMaxMakingInFolder; i < kMaxSegmentsMaking; ++i) ASSERT_TRUE(join("well"));
  EXPECT_FALSE(join("well"));
  EXPECT_EQ(table_.size(), kMaxSegmentsMaking);
}

// Their packets are there until their turn comes.
TEST_F(MakingTableTest, JobsThatWereGivenUpCount) {
  for (PartTicket ticket = 1; ticket <= kMaxSegmentJobs; ++ticket) {
    const auto joined = Join(ticket, "a");
    ASSERT_TRUE(joined);
    table_.JobOut(joined->making);
    table_.Leave(ticket);
  }
  EXPECT_EQ(table_.size(), 0U);
  EXPECT_FALSE(Join(1000, "a"));
  const auto ended = *table_.jobs_out().begin();
  table_.JobEnded(ended);
  EXPECT_TRUE(Join(1000, "a"));
}

TEST_F(MakingTableTest, PacketsOfJobsAreThereUntilTheyEnd) {
  const auto given_up = Join(1, "a", "x")->making, waited_for = Join(2, "b", "y")->making;
  given_up->bytes = 5;
  waited_for->bytes = 7;
  EXPECT_EQ(table_.bytes_out(), PacketBytes());
  table_.JobOut(given_up);
  table_.JobOut(waited_for);
  table_.Leave(1);
  EXPECT_EQ(table_.bytes_out(), (PacketBytes{{"x", 5}, {"y", 7}}));
  table_.JobEnded(given_up);
  EXPECT_EQ(table_.bytes_out(), (PacketBytes{{"y", 7}}));
}

TEST_F(MakingTableTest, WhatIsToldToStopIsStillFinished) {
  const auto making = Join(1, "a")->making;
  table_.StopAll();
  EXPECT_TRUE(making->stop.stop_requested());
  EXPECT_EQ(table_.Finish("a", *making).size(), 1U);
}

}  // namespace
}  // namespace gopmill
