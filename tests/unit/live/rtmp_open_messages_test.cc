// SPDX-License-Identifier: Apache-2.0
#include "server/live/rtmp_open_messages.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace gopmill {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t kMost = 0xFFFFFF;  // bytes of a message
constexpr std::uint8_t kVideo = 9, kSetChunkSize = 1;

std::string Number(std::uint64_t value, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    text += static_cast<char>(value >> static_cast<unsigned>(shift));
  }
  return text;
}

// One to three bytes, with the form of the message header.
std::string Basic(int form, std::uint32_t id) {
  const auto first = static_cast<std::uint32_t>(form) << 6U;
  if (id < 64) return Number(first | id, 1);
  if (id < 320) return Number(first, 1) + Number(id - 64, 1);
  return Number(first | 1U, 1) + Number((id - 64) & 0xFFU, 1) + Number((id - 64) >> 8U, 1);
}

// What a message begins with.
std::string Begin(std::uint32_t id, std::uint32_t size, std::uint8_t type = kVideo,
                  std::uint32_t time = 0) {
  return Basic(0, id) + Number(std::min(time, 0xFFFFFFU), 3) + Number(size, 3) + Number(type, 1) +
         Number(1, 4) + (time >= 0xFFFFFF ? Number(time, 4) : "");
}
std::string GoOn(std::uint32_t id) { return Basic(3, id); }
std::string Payload(std::size_t bytes) { return std::string(bytes, 'x'); }

class RtmpOpenMessagesTest : public ::testing::Test {
 protected:
  RtmpOpenMessagesTest() { EXPECT_TRUE(Take(Payload(3073)).ok()) << "the greeting"; }
  Status Take(const std::string& bytes) {
    return messages_.Take({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  }
  RtmpOpenMessages messages_;
};

TEST_F(RtmpOpenMessagesTest, AMessageIsOpenUntilItsLastChunk) {
  ASSERT_TRUE(Take(Begin(4, 300) + Payload(128)).ok());
  EXPECT_EQ(messages_.open_bytes(), 300U);
  ASSERT_TRUE(Take(GoOn(4) + Payload(128) + GoOn(4) + Payload(43)).ok());
  EXPECT_EQ(messages_.open_bytes(), 300U) << "a byte is missing";
  ASSERT_TRUE(Take(Payload(1)).ok());
  EXPECT_EQ(messages_.open_bytes(), 0U);
  // The next of the same kind needs no header; nor does one without a payload.
  ASSERT_TRUE(Take(GoOn(4) + Payload(128)).ok());
  EXPECT_EQ(messages_.open_bytes(), 300U);
  ASSERT_TRUE(Take(Begin(5, 0) + Begin(6, 1) + "x").ok());
  EXPECT_EQ(messages_.open_bytes(), 300U);
}

TEST_F(RtmpOpenMessagesTest, TheSumOfAllStreamsIsBounded) {
  ASSERT_TRUE(Take(Begin(4, kMost) + Payload(128) + Begin(100, kMost) + Payload(128)).ok());
  EXPECT_EQ(messages_.open_bytes(), 2 * std::size_t{kMost});
  ASSERT_TRUE(Take(Begin(5, 2) + Payload(2)).ok()) << "two are left";
  const Status refused = Take(Begin(60'000, 3));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kCorrupt);
  EXPECT_THAT(refused.error().message, HasSubstr("32 MiB"));
}

TEST_F(RtmpOpenMessagesTest, ChunksAreAsLongAsTheClientSays) {
  // In chunks of one byte, with another message in between that looks like a length as well.
  ASSERT_TRUE(Take(Begin(2, 4, kSetChunkSize) + Number(1, 4)).ok());
  const std::string length = Number(70'000, 4);
  ASSERT_TRUE(Take(Begin(2, 4, kSetChunkSize) + length[0] + Begin(9, 4) + '\x01' + GoOn(2) +
                   length[1] + GoOn(9) + '\x02' + GoOn(2) + length[2] + GoOn(2) + length[3])
                  .ok());
  ASSERT_TRUE(Take(Begin(4, 70'001) + Payload(70'000)).ok());
  EXPECT_EQ(messages_.open_bytes(), 70'005U);
  ASSERT_TRUE(Take(GoOn(4) + "x" + GoOn(9) + Payload(2)).ok());
  EXPECT_EQ(messages_.open_bytes(), 0U);
  for (const std::string& bad : {Number(0, 4), Number(0x80000000, 4), Number(1, 3), Number(1, 5)}) {
    RtmpOpenMessages fresh;
    const std::string bytes =
        Payload(3073) + Begin(2, static_cast<std::uint32_t>(bad.size()), kSetChunkSize) + bad;
    EXPECT_FALSE(
        fresh.Take({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}).ok());
  }
}

TEST_F(RtmpOpenMessagesTest, LongTimesHaveFourBytesMoreInEachChunk) {
  ASSERT_TRUE(Take(Begin(4, 130, kVideo, 0x1234567) + Payload(128)).ok());
  ASSERT_TRUE(Take(GoOn(4) + Number(0x1234567, 4) + Payload(2)).ok());
  EXPECT_EQ(messages_.open_bytes(), 0U);
  ASSERT_TRUE(Take(Begin(4, 129) + Payload(128) + GoOn(4) + "x").ok());
  EXPECT_EQ(messages_.open_bytes(), 0U) << "one with a short time behind it";
}

// FFmpeg's versions answer to these in different ways.
TEST_F(RtmpOpenMessagesTest, AMessageThatChangesItselfIsRefused) {
  ASSERT_TRUE(Take(Begin(4, 300) + Payload(128) + Begin(4, 300) + Payload(128)).ok());
  RtmpOpenMessages copy = messages_;
  const auto take = [](RtmpOpenMessages messages, const std::string& bytes) {
    return messages.Take({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}).ok();
  };
  EXPECT_FALSE(take(copy, Begin(4, 301)));
  EXPECT_FALSE(take(copy, Begin(4, 300, kSetChunkSize)));
}

TEST(RtmpOpenMessages, ItDoesNotMatterInWhichPiecesBytesCome) {
  const std::string bytes = Payload(3073) + Begin(2, 4, kSetChunkSize) + Number(200, 4) +
                            Begin(64, 450, kVideo, 0x2000000) + Payload(200) + Begin(400, 10) +
                            Payload(10) + GoOn(64) + Number(0x2000000, 4) + Payload(200);
  const std::span all(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, bytes.size()}) {
    RtmpOpenMessages messages;
    for (std::size_t at = 0; at < all.size(); at += piece) {
      ASSERT_TRUE(messages.Take(all.subspan(at, std::min(piece, all.size() - at))).ok());
    }
    EXPECT_EQ(messages.open_bytes(), 450U) << piece;
  }
}

}  // namespace
}  // namespace gopmill
