// SPDX-License-Identifier: Apache-2.0
#include "base/pipe.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace gopmill {
namespace {

int FlagsOf(const UniqueFd& fd) { return fcntl(fd.get(), F_GETFL); }

TEST(UploadPipe, ItsWriterNeverWaits) {
  for (const PipeReader reader : {PipeReader::kWaits, PipeReader::kGoesOn}) {
    const auto pipe = OpenUploadPipe(reader);
    ASSERT_TRUE(pipe.ok());
    EXPECT_NE(FlagsOf(pipe->writer) & O_NONBLOCK, 0);
    EXPECT_EQ((FlagsOf(pipe->reader) & O_NONBLOCK) == 0, reader == PipeReader::kWaits);
    EXPECT_EQ(fcntl(pipe->writer.get(), F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(fcntl(pipe->reader.get(), F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(write(pipe->writer.get(), "a", 1), 1);
    char read_back = 0;
    EXPECT_EQ(read(pipe->reader.get(), &read_back, 1), 1);
    EXPECT_EQ(read_back, 'a');
  }
}

}  // namespace
}  // namespace gopmill
