// SPDX-License-Identifier: Apache-2.0
//
// Which uploads are kept until they are whole, and what ends that.
#include "server/files/upload_spool.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

namespace gopmill {
namespace {

using std::chrono::milliseconds;

const std::string kBegin = std::string("\0\0\0\x10", 4) + "ftypisom" + std::string(4, '\0') +
                           std::string("\0\0\xff\xff", 4) + "mdat";

struct Body {
  Body() {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    reader = UniqueFd(ends[0]);
    writer = UniqueFd(ends[1]);
  }
  void Send(const std::string& bytes) const {
    EXPECT_EQ(write(writer.get(), bytes.data(), bytes.size()), std::ssize(bytes));
  }
  UniqueFd reader, writer;
};

std::string AllOf(int fd) {
  std::string all;
  std::array<char, 4096> piece;
  for (ssize_t got = 0; (got = read(fd, piece.data(), piece.size())) > 0;) {
    all.append(piece.data(), static_cast<std::size_t>(got));
  }
  return all;
}

class UploadSpoolTest : public testing::Test {
 protected:
  Result<UniqueFd> Readable(Body& body, Duration waits = std::chrono::seconds(60)) {
    share_.emplace(spool_);
    return spool_.Readable(std::move(body.reader), *share_, waits, stop_.get_token());
  }

  UploadSpool spool_{testing::TempDir() + "/spool/new", 300'000};
  std::optional<UploadSpool::Share> share_;
  std::stop_source stop_;
};

TEST_F(UploadSpoolTest, KeepsWhatHasItsIndexBehindUntilAllIsThere) {
  Body body;
  const std::string rest(200'000, 'x');
  std::thread sender([&] {
    for (const char byte : kBegin) body.Send(std::string(1, byte));
    body.Send(rest);
    body.writer = UniqueFd();
  });
  const auto readable = Readable(body);
  sender.join();
  ASSERT_TRUE(readable.ok()) << readable.error().ToString();
  EXPECT_EQ(AllOf(readable->get()), kBegin + rest);
  EXPECT_EQ(lseek(readable->get(), 0, SEEK_SET), 0) << "it is a file";
  EXPECT_EQ(spool_.used_bytes(), std::ssize(kBegin + rest));
  share_.reset();
  EXPECT_EQ(spool_.used_bytes(), 0);
}

// Such pieces leave half of each page of the pipe empty.
TEST_F(UploadSpoolTest, ReadsOnWhereThePipeIsFullBeforeItIsTold) {
  Body body;
  const std::string all = kBegin.substr(0, 16) + std::string("\0\1\0\0", 4) + "free" +
                          std::string((1 << 16) - 8, 'x') + std::string("\0\0\0\x08", 4) + "moov";
  std::thread sender([&] {
    for (std::size_t at = 0; at < all.size(); at += 2100) body.Send(all.substr(at, 2100));
    body.writer = UniqueFd();
  });
  const auto readable = Readable(body);
  sender.join();
  ASSERT_TRUE(readable.ok()) << readable.error().ToString();
  EXPECT_EQ(AllOf(readable->get()), all);
}

TEST_F(UploadSpoolTest, LeavesAllOthersAsTheyCome) {
  for (const std::string& bytes : {std::string("G"), std::string("not a movie at all"),
                                   std::string(), kBegin.substr(0, kBegin.size() - 4) + "moov"}) {
    Body body;
    const int fd = body.reader.get();
    body.Send(bytes);
    if (bytes.size() < 8) body.writer = UniqueFd();  // else it would be waited for
    const auto readable = Readable(body);
    ASSERT_TRUE(readable.ok());
    EXPECT_EQ(readable->get(), fd);
    body.writer = UniqueFd();
    EXPECT_EQ(AllOf(fd), bytes) << "nothing of it is read";
    EXPECT_EQ(spool_.used_bytes(), 0);
  }
}

TEST_F(UploadSpoolTest, DoesNotWaitForEverForWhoSendsTooSlowly) {
  for (const std::string& bytes : {std::string(), kBegin.substr(0, 9), kBegin}) {
    Body body;
    body.Send(bytes);
    const auto readable = Readable(body, milliseconds(30));
    ASSERT_FALSE(readable.ok());
    EXPECT_EQ(readable.error().code, Code::kDeadlineExceeded) << readable.error().ToString();
  }
}

TEST_F(UploadSpoolTest, IsStopped) {
  Body body;
  body.Send(kBegin);
  stop_.request_stop();
  EXPECT_EQ(Readable(body).error().code, Code::kCancelled);
}

TEST_F(UploadSpoolTest, HasALimitForAllTogether) {
  Body first, second;
  for (Body* body : {&first, &second}) body->Send(kBegin + std::string(40'000, 'x'));
  UploadSpool small(testing::TempDir() + "/spool", 60'000);
  UploadSpool::Share one(small), other(small);
  first.writer = UniqueFd();
  second.writer = UniqueFd();
  const auto wait = std::chrono::seconds(60);
  EXPECT_TRUE(small.Readable(std::move(first.reader), one, wait, {}).ok());
  const auto refused = small.Readable(std::move(second.reader), other, wait, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
}

TEST_F(UploadSpoolTest, SaysThatItHasNoFolder) {
  Body body;
  body.Send(kBegin);
  UploadSpool nowhere("/proc/nope", 60'000);
  UploadSpool::Share share(nowhere);
  const auto refused = nowhere.Readable(std::move(body.reader), share, milliseconds(1000), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kIo);
}

}  // namespace
}  // namespace gopmill
