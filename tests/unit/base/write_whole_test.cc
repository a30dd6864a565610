// SPDX-License-Identifier: Apache-2.0
#include "base/write_whole.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <thread>

#include "base/unique_fd.h"

namespace gopmill {
namespace {

TEST(WriteWhole, GoesOnWhereOneCallTookAPart) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const std::string all(1'000'000, 'x');  // more than a pipe has room for
  std::string read_back;
  std::thread other([&] {
    std::array<char, 4096> piece;
    for (ssize_t got = 0; (got = read(reader.get(), piece.data(), piece.size())) > 0;) {
      read_back.append(piece.data(), static_cast<std::size_t>(got));
    }
  });
  EXPECT_TRUE(WriteWhole(writer.get(), all));
  writer = UniqueFd();
  other.join();
  EXPECT_EQ(read_back, all);
}

TEST(WriteWhole, SaysThatItCannot) {
  const UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full.valid());
  EXPECT_TRUE(WriteWhole(full.get(), ""));
  EXPECT_FALSE(WriteWhole(full.get(), "x"));
  EXPECT_EQ(errno, ENOSPC);
}

}  // namespace
}  // namespace gopmill
