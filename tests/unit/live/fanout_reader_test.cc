// SPDX-License-Identifier: Apache-2.0
#include "server/live/fanout_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/unit/live/fanout_media.h"

namespace gopmill {
namespace {

using testing::Header;
using testing::PictureItem;
using testing::Received;
using testing::ReceivingSink;

constexpr std::int64_t kGop = 25;

class FanoutReaderTest : public ::testing::Test {
 protected:
  void SetUp() override { reader_.Open(Header()); }
  // Pictures first .. end - 1, a key picture each second. `made`: of the first; they come as they
  // are shown.
  void Put(std::int64_t first, std::int64_t end, int bytes = 100, TimePoint made = {}) {
    for (std::int64_t pts = first; pts < end; ++pts) {
      reader_.Put(PictureItem(pts, pts % kGop == 0, bytes,
                              made + std::chrono::milliseconds(40 * (pts - first))),
                  {});
    }
  }
  StreamEnd RunToTheEnd(Status status = OkStatus()) {
    reader_.End({.status = std::move(status), .measures = {{"units", "7"}, {"frames", "999"}}});
    reader_.Run();
    return *received_->end();
  }

  const std::shared_ptr<Received> received_ = std::make_shared<Received>();
  FanoutReader reader_{StreamId{5}, std::make_unique<ReceivingSink>(received_)};
};

TEST_F(FanoutReaderTest, DeliversAllThatCame) {
  Put(0, 60);
  const StreamEnd end = RunToTheEnd();
  EXPECT_TRUE(end.status.ok());
  EXPECT_EQ(end.measures.at("frames"), "60");
  EXPECT_EQ(end.measures.at("units"), "7") << "of the encode";
  EXPECT_EQ(end.measures.at("bytes"), std::to_string(received_->bytes()));
  EXPECT_EQ(end.measures.at("dropped-gops"), "0");
}

TEST_F(FanoutReaderTest, BeginsWithAKeyPictureWhenItComesLate) {
  reader_.ComesLate();
  Put(10, 60);
  EXPECT_EQ(RunToTheEnd().measures.at("frames"), "35");
  EXPECT_EQ(reader_.Snapshot().dropped_gops, 0) << "it was not there yet";
}

TEST_F(FanoutReaderTest, LosesTheOldestGopsBeyondItsBytes) {
  Put(0, 100, 100'000);  // 10 MB in GOPs of 2.5 MB
  const StreamEnd end = RunToTheEnd();
  EXPECT_TRUE(end.status.ok());
  EXPECT_EQ(end.measures.at("frames"), "75");
  EXPECT_EQ(end.measures.at("dropped-gops"), "1");
}

TEST_F(FanoutReaderTest, LosesTheOldestGopsBeyondItsTime) {
  Put(0, 101);  // four seconds
  const StreamEnd end = RunToTheEnd();
  EXPECT_EQ(end.measures.at("frames"), "76");
  EXPECT_EQ(end.measures.at("dropped-gops"), "1");
}

TEST_F(FanoutReaderTest, WaitsForAKeyPictureWhenAllThatWaitedIsLost) {
  Put(0, 10);
  Put(10, 20, 100, TimePoint{} + std::chrono::seconds(10));
  Put(20, 30, 100, TimePoint{} + std::chrono::seconds(11));
  const StreamEnd end = RunToTheEnd();
  EXPECT_EQ(end.measures.at("frames"), "5");
  EXPECT_EQ(end.measures.at("dropped-gops"), "1");
}

TEST_F(FanoutReaderTest, OnePictureLargerThanAllItsRoomIsLost) {
  reader_.Put(PictureItem(0, true, static_cast<int>(kFanoutBytes) + 1), {});
  Put(25, 30);
  EXPECT_EQ(RunToTheEnd().measures.at("frames"), "5");
}

TEST_F(FanoutReaderTest, TellsWhyTheEncodeHasFailed) {
  Put(0, 30);
  const StreamEnd end = RunToTheEnd(Error{.code = Code::kCorrupt, .message = "A broken source."});
  ASSERT_FALSE(end.status.ok());
  EXPECT_EQ(end.status.error().message, "A broken source.");
  EXPECT_EQ(end.measures.at("frames"), "30") << "what came before is delivered";
}

TEST_F(FanoutReaderTest, IsNotStartedWithoutAPicture) {
  reader_.ComesLate();
  Put(1, 20);
  const StreamEnd end = RunToTheEnd();
  ASSERT_FALSE(end.status.ok());
  EXPECT_EQ(end.status.error().code, Code::kUnavailable);
  EXPECT_FALSE(received_->started()) << "a front end can still answer with an error";
}

TEST_F(FanoutReaderTest, ACancelledOneDeliversNoMore) {
  Put(0, 60);
  const StreamEnd end = RunToTheEnd(Cancelled());
  EXPECT_EQ(end.status.error().code, Code::kCancelled);
  EXPECT_EQ(received_->bytes(), 0U);
}

TEST_F(FanoutReaderTest, ACancelEndsAWriteThatBlocks) {
  received_->Hold();
  Put(0, 60);
  reader_.Put({.kind = FanoutItem::Kind::kEndUnit, .made = {}}, {});
  std::jthread thread([this] { reader_.Run(); });
  received_->AwaitWrite();
  reader_.Cancel();
  thread.join();
  EXPECT_EQ(received_->end()->status.error().code, Code::kCancelled);
  Put(75, 80);  // the encode need not know yet
}

}  // namespace
}  // namespace gopmill
