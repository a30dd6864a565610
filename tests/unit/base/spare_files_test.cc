// SPDX-License-Identifier: Apache-2.0
#include "base/spare_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/unique_fd.h"

namespace gopmill {
namespace {

TEST(HasFiles, KnowsTheLimitAndTakesNothing) {
  const UniqueFd next(open("/dev/null", O_RDONLY | O_CLOEXEC));  // the lowest that is free
  ASSERT_TRUE(next.valid());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = static_cast<rlim_t>(next.get()) + 5;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_TRUE(HasFiles(4));
  EXPECT_TRUE(HasFiles(4)) << "the first time they were kept";
  EXPECT_FALSE(HasFiles(5));
  EXPECT_TRUE(HasFiles(4)) << "those that could be had were kept";
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(HasFiles(5));
}

}  // namespace
}  // namespace gopmill
