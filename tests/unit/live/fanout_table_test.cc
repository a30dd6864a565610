// SPDX-License-Identifier: Apache-2.0
#include "server/live/fanout_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/live/fanout_media.h"

namespace gopmill {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Picture;
using testing::PicturesAndSound;
using testing::Received;
using testing::ReceivingSink;

// An encode as the test drives it.
struct Encode {
  std::unique_ptr<StreamSink> sink;
  std::unique_ptr<PacketOutput> output;
  std::int64_t next = 0;

  void Begin() {
    ASSERT_TRUE(sink->Start({}).ok());
    auto opened = sink->OpenOutput(Container::kTs, PicturesAndSound());
    ASSERT_TRUE(opened.ok());
    output = std::move(*opened);
  }
  void MakeGop() {
    for (int i = 0; i < 25; ++i) {
      ASSERT_TRUE(output->Write(0, Picture(next++, i == 0)).ok());
    }
    ASSERT_TRUE(output->EndUnit().ok());
  }
  void End(Status status = OkStatus()) {
    sink->Finish({.status = std::move(status), .measures = {}});
  }
};

TEST(FanoutGauge, GivesTheUsualRoomForShortGops) {
  FanoutGauge gauge;
  for (std::int64_t pts = 0; pts < 250; ++pts) {
    gauge.Note(testing::PictureItem(pts, pts % 25 == 0), {1, 25});
  }
  EXPECT_EQ(gauge.room().bytes, kFanoutBytes);
  EXPECT_EQ(gauge.room().wait, kFanoutWait + std::chrono::seconds(1));
}

TEST(FanoutGauge, GivesRoomForGopsThatComeWhole) {
  FanoutGauge gauge;
  for (std::int64_t pts = 0; pts < 250; ++pts) {
    gauge.Note(testing::PictureItem(pts, pts == 0, 40'000), {1, 25});
  }
  gauge.Note(testing::PictureItem(250, true), {1, 25});
  EXPECT_EQ(gauge.room().bytes, 20'000'000U) << "two GOPs";
  EXPECT_EQ(gauge.room().wait, kFanoutWait + std::chrono::seconds(10));
  gauge.Note(testing::PictureItem(251, false, static_cast<int>(kMaxFanoutBytes)), {1, 25});
  EXPECT_EQ(gauge.room().bytes, kMaxFanoutBytes);
}

class FanoutTableTest : public ::testing::Test {
 protected:
  // A reader with this number; what it receives.
  std::shared_ptr<Received> Join(const std::string& key, std::uint64_t id) {
    auto received = std::make_shared<Received>();
    const Status joined = Try(key, id, received);
    EXPECT_TRUE(joined.ok()) << joined.error().message;
    return received;
  }
  Status Try(const std::string& key, std::uint64_t id, std::shared_ptr<Received> received) {
    return table_.Join(key, StreamId{id}, std::make_unique<ReceivingSink>(std::move(received)),
                       [this](std::unique_ptr<StreamSink> sink) -> Result<StreamId> {
                         if (refuse_) return *refuse_;
                         encodes_.push_back({.sink = std::move(sink), .output = {}});
                         return StreamId{100 + encodes_.size()};
                       });
  }
  std::vector<std::uint64_t> cancelled() {
    const MutexLock lock(mutex_);
    return cancelled_;
  }
  void AwaitLeft(int count) {
    const MutexLock lock(mutex_);
    while (left_ < count) changed_.Wait(mutex_);
  }

  std::vector<Encode> encodes_;
  std::optional<Error> refuse_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::uint64_t> cancelled_ GOPMILL_GUARDED_BY(mutex_);
  int left_ GOPMILL_GUARDED_BY(mutex_) = 0;
  FanoutTable table_{{.cancel =
                          [this](StreamId id) {
                            const MutexLock lock(mutex_);
                            cancelled_.push_back(id.value);
                          },
                      .on_left =
                          [this] {
                            const MutexLock lock(mutex_);
                            ++left_;
                            changed_.NotifyAll();
                          }}};
};

TEST_F(FanoutTableTest, EqualRequestsGetTheSamePackets) {
  const auto one = Join("a", 1), two = Join("a", 2), other = Join("b", 3);
  ASSERT_EQ(encodes_.size(), 2U);
  for (Encode& encode : encodes_) encode.Begin();
  encodes_[0].MakeGop();
  encodes_[0].MakeGop();
  encodes_[1].MakeGop();
  for (Encode& encode : encodes_) encode.End();
  EXPECT_EQ(one->AwaitEnd().measures.at("frames"), "50");
  EXPECT_EQ(two->AwaitEnd().measures.at("frames"), "50");
  EXPECT_EQ(one->bytes(), two->bytes());
  EXPECT_EQ(other->AwaitEnd().measures.at("frames"), "25");
  AwaitLeft(3);
  EXPECT_EQ(table_.readers(), 0U);
  EXPECT_THAT(cancelled(), IsEmpty()) << "they have ended by themselves";
}

TEST_F(FanoutTableTest, WhoComesLateBeginsWithTheNextGop) {
  const auto one = Join("a", 1);
  encodes_[0].Begin();
  encodes_[0].MakeGop();
  const auto two = Join("a", 2);
  encodes_[0].MakeGop();
  encodes_[0].End();
  EXPECT_EQ(one->AwaitEnd().measures.at("frames"), "50");
  EXPECT_EQ(two->AwaitEnd().measures.at("frames"), "25");
}

TEST_F(FanoutTableTest, TheEncodeEndsWithItsLastReader) {
  const auto one = Join("a", 1), two = Join("a", 2);
  EXPECT_TRUE(table_.Leave(StreamId{1}));
  EXPECT_FALSE(table_.Leave(StreamId{1})) << "it has left";
  EXPECT_FALSE(table_.Leave(StreamId{9}));
  EXPECT_THAT(cancelled(), IsEmpty());
  EXPECT_EQ(table_.Readers()[StreamId{101}].size(), 1U);
  EXPECT_TRUE(table_.Leave(StreamId{2}));
  EXPECT_THAT(cancelled(), ElementsAre(101));
  EXPECT_EQ(one->AwaitEnd().status.error().code, Code::kCancelled);
  EXPECT_EQ(two->AwaitEnd().status.error().code, Code::kCancelled);
  EXPECT_EQ(table_.EncodeOf(StreamId{2}), StreamId{101}) << "it can still be asked for";
  EXPECT_EQ(table_.EncodeOf(StreamId{3}), std::nullopt);
  Join("a", 4);
  EXPECT_EQ(encodes_.size(), 2U) << "not the one that is being stopped";
}

TEST_F(FanoutTableTest, AnEncodeThatIsOverIsNotJoined) {
  Join("a", 1);
  encodes_[0].End();
  AwaitLeft(1);
  EXPECT_EQ(table_.encodes(), 0U) << "it is forgotten with its last reader";
  Join("a", 2);
  EXPECT_EQ(encodes_.size(), 2U);
  EXPECT_EQ(table_.encodes(), 1U);
}

TEST_F(FanoutTableTest, AnEncodeThatIsBeingStoppedIsNotJoined) {
  const auto one = Join("a", 1);
  encodes_[0].sink->Cancel();
  const auto two = Join("a", 2);
  EXPECT_EQ(encodes_.size(), 2U);
  encodes_[0].End(Cancelled());
  EXPECT_EQ(one->AwaitEnd().status.error().code, Code::kCancelled);
  EXPECT_FALSE(two->end());
  AwaitLeft(1);
  EXPECT_EQ(table_.encodes(), 1U) << "the second one can be joined";
  EXPECT_THAT(cancelled(), IsEmpty());
}

TEST_F(FanoutTableTest, AReaderThatIsGoneLeavesByItself) {
  const auto one = Join("a", 1), two = Join("a", 2);
  encodes_[0].Begin();
  ReceivingSink(one).Cancel();  // its next write fails
  encodes_[0].MakeGop();
  EXPECT_FALSE(one->AwaitEnd().status.ok());
  AwaitLeft(1);
  EXPECT_EQ(table_.readers(), 1U);
  encodes_[0].MakeGop();
  encodes_[0].End();
  EXPECT_EQ(two->AwaitEnd().measures.at("frames"), "50");
  EXPECT_THAT(cancelled(), IsEmpty());
}

TEST_F(FanoutTableTest, AFailureOfTheEncodeIsTheFailureOfAll) {
  const auto one = Join("a", 1), two = Join("a", 2);
  encodes_[0].End(Error{.code = Code::kUnavailable, .message = "Nobody publishes."});
  for (const auto& received : {one, two}) {
    EXPECT_EQ(received->AwaitEnd().status.error().message, "Nobody publishes.");
    EXPECT_FALSE(received->started());
  }
}

TEST_F(FanoutTableTest, WhatKeepsAnEncodeFromStartingIsTheAnswer) {
  refuse_ = Error{.code = Code::kUnavailable, .message = "Full."};
  EXPECT_EQ(Try("a", 1, std::make_shared<Received>()).error().message, "Full.");
  EXPECT_EQ(table_.readers(), 0U);
  refuse_.reset();
  Join("a", 2);
  EXPECT_EQ(encodes_.size(), 1U);
}

TEST_F(FanoutTableTest, StopEndsReadersWhoseSinksBlock) {
  const auto one = Join("a", 1);
  one->Hold();
  encodes_[0].Begin();
  encodes_[0].MakeGop();
  one->AwaitWrite();
  table_.Stop();
  EXPECT_EQ(one->end()->status.error().code, Code::kCancelled) << "its thread has been waited for";
  EXPECT_FALSE(Try("a", 2, std::make_shared<Received>()).ok());
}

}  // namespace
}  // namespace gopmill
