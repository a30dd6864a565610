// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/packet_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/stays_false.h"

namespace gopmill {
namespace {

using State = PacketQueue::State;
using std::chrono::milliseconds;

constexpr std::int64_t kSecond = 1'000'000'000;
const std::vector<std::uint8_t> kBytes(1000, 7);

CodedPacket PacketAt(std::size_t track, std::int64_t ns) {
  return {.track = track, .bytes = kBytes, .pts_ns = ns, .dts_ns = ns, .key = true};
}

PlayableStream TwoTracks() {
  PlayableStream stream;
  stream.tracks.resize(2);
  stream.tracks[1].kind = TrackKind::kAudio;
  stream.seconds = 10;
  return stream;
}

class PacketQueueTest : public testing::Test {
 protected:
  PacketQueueTest() : generation(queue.Restart()) {
    EXPECT_TRUE(queue.SetStream(generation, TwoTracks()).ok());
  }
  std::atomic<int> told = 0;
  PacketQueue queue{[this](std::size_t) { ++told; }};
  std::int64_t generation;
  QueuedPacket packet;
};

TEST_F(PacketQueueTest, KeepsTheOrderOfEachTrack) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(queue.Push(generation, PacketAt(0, i)).ok());
    ASSERT_TRUE(queue.Push(generation, PacketAt(1, 10 + i)).ok());
  }
  EXPECT_EQ(told, 6);
  EXPECT_EQ(queue.bytes(), 6000U);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(queue.Pop(1, packet), State::kPacket);
    EXPECT_EQ(packet.pts_ns, 10 + i);
  }
  EXPECT_EQ(queue.Pop(1, packet), State::kEmpty);
  ASSERT_EQ(queue.Pop(0, packet), State::kPacket);
  EXPECT_EQ(packet.pts_ns, 0);
  EXPECT_EQ(packet.bytes, kBytes);
}

// A player that has set up one track of two.
TEST_F(PacketQueueTest, ATrackThatIsNotTakenDoesNotBlock) {
  for (std::int64_t ms = 0; ms < 60'000; ms += 40) {
    ASSERT_TRUE(queue.Push(generation, PacketAt(0, ms * 1'000'000)).ok());
    ASSERT_TRUE(queue.Push(generation, PacketAt(1, ms * 1'000'000)).ok());
    ASSERT_EQ(queue.Pop(0, packet), State::kPacket);
    EXPECT_EQ(packet.dts_ns, ms * 1'000'000);
  }
  EXPECT_LE(queue.bytes(), 11U * 25 * kBytes.size()) << "ten seconds of what is not taken";
}

TEST_F(PacketQueueTest, NeitherDoesOneThatTakesAllTheRoom) {
  const std::vector<std::uint8_t> large(400'000, 1);  // 80 Mbit/s: 8 MiB are 0.8 s
  for (std::int64_t ms = 0; ms < 5000; ms += 40) {
    const CodedPacket picture{
        .track = 0, .bytes = large, .pts_ns = ms * 1'000'000, .dts_ns = ms * 1'000'000};
    ASSERT_TRUE(queue.Push(generation, PacketAt(1, ms * 1'000'000)).ok());
    ASSERT_EQ(queue.Pop(1, packet), State::kPacket);
    ASSERT_TRUE(queue.Push(generation, picture).ok());
  }
  EXPECT_LE(queue.bytes(), kAheadBytes + large.size());
}

TEST_F(PacketQueueTest, WaitsOnceEveryTrackIsFarAhead) {
  for (int i = 0; i <= 2; ++i) ASSERT_TRUE(queue.Push(generation, PacketAt(0, i * kSecond)).ok());
  // Pictures are two seconds ahead, but there is no sound yet: a player would wait for it.
  ASSERT_TRUE(queue.Push(generation, PacketAt(1, 0)).ok());
  ASSERT_TRUE(queue.Push(generation, PacketAt(1, 2 * kSecond)).ok());
  std::atomic<bool> through = false;
  std::thread pusher([&] {
    EXPECT_TRUE(queue.Push(generation, PacketAt(1, 3 * kSecond)).ok());
    through = true;
  });
  EXPECT_TRUE(StaysFalse(through));
  EXPECT_EQ(queue.bytes(), 5 * kBytes.size());
  EXPECT_EQ(queue.Pop(0, packet), State::kPacket);
  pusher.join();
  EXPECT_EQ(queue.bytes(), 5 * kBytes.size());
}

TEST_F(PacketQueueTest, IsBoundedInBytesWhateverTheTracksDo) {
  const std::vector<std::uint8_t> large(kAheadBytes, 1);
  ASSERT_TRUE(queue.Push(generation, {.track = 0, .bytes = large}).ok());
  std::atomic<bool> through = false;
  std::thread pusher([&] {
    const Status pushed = queue.Push(generation, PacketAt(0, 1));
    EXPECT_TRUE(!pushed.ok() && pushed.error().code == Code::kCancelled);
    through = true;
  });
  EXPECT_TRUE(StaysFalse(through));
  EXPECT_EQ(queue.bytes(), kAheadBytes);
  queue.Abandon();
  pusher.join();
}

TEST_F(PacketQueueTest, ARestartDropsWhatIsOldAndFreesTheOldStream) {
  ASSERT_TRUE(
      queue.Push(generation, {.track = 0, .bytes = std::vector<std::uint8_t>(kAheadBytes)}).ok());
  std::atomic<bool> through = false;
  std::thread pusher([&] {
    EXPECT_FALSE(queue.Push(generation, PacketAt(0, 1)).ok());
    through = true;
  });
  EXPECT_TRUE(StaysFalse(through));
  EXPECT_EQ(queue.bytes(), kAheadBytes);
  const std::int64_t next = queue.Restart();
  pusher.join();
  EXPECT_EQ(queue.bytes(), 0U);
  EXPECT_EQ(queue.Pop(0, packet), State::kEmpty);
  queue.End(generation, OkStatus());  // of the old stream: nobody minds
  EXPECT_EQ(queue.Pop(0, packet), State::kEmpty);
  ASSERT_TRUE(queue.Push(next, PacketAt(0, 5)).ok());
  queue.End(next, OkStatus());
  EXPECT_EQ(queue.Pop(0, packet), State::kPacket);
  EXPECT_EQ(queue.Pop(0, packet), State::kEnd);
}

TEST_F(PacketQueueTest, AFailureIsNoEnd) {
  ASSERT_TRUE(queue.Push(generation, PacketAt(0, 5)).ok());
  queue.End(generation, Cancelled());
  EXPECT_EQ(queue.Pop(0, packet), State::kPacket) << "what came before it";
  EXPECT_EQ(queue.Pop(0, packet), State::kFailed);
  queue.End(queue.Restart(), OkStatus());
  EXPECT_EQ(queue.Pop(0, packet), State::kEnd) << "of the stream after it";
}

TEST(PacketQueueStart, TellsWhyAStreamNeverBegan) {
  PacketQueue queue([](std::size_t) {});
  const std::int64_t generation = queue.Restart();
  EXPECT_EQ(queue.AwaitStream(milliseconds(1)).error().code, Code::kDeadlineExceeded);
  queue.End(generation, Error{Code::kNotFound, "There is no such movie."});
  queue.End(generation, Error{Code::kInternal, "The sink is gone."});  // the first reason counts
  EXPECT_EQ(queue.AwaitStream(milliseconds(1)).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace gopmill
