// SPDX-License-Identifier: Apache-2.0
#include "server/cli/open_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace gopmill::cli {
namespace {

TEST(OpenFiles, TheSoftLimitIsRaisedToTheHardOne) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{.rlim_cur = before.rlim_max / 2, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(static_cast<rlim_t>(RaiseOpenFileLimit()), before.rlim_max);
  rlimit after{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST(OpenFiles, StreamsAndSessionsKeepTheirsWhereThereAreFew) {
  ServerConfig config;
  const std::int64_t all = OpenFilesFor(config);
  EXPECT_EQ(ConnectionsWithin(all, config), config.http.max_connections);
  EXPECT_EQ(ConnectionsWithin(1'000'000, config), config.http.max_connections);
  EXPECT_EQ(ConnectionsWithin(1024, config), 512);
  EXPECT_EQ(ConnectionsWithin(64, config), 32);
  config.rtsp.port = 0;
  EXPECT_LT(OpenFilesFor(config), all);
  EXPECT_EQ(ConnectionsWithin(OpenFilesFor(config) - 10, config), config.http.max_connections - 10);
}

}  // namespace
}  // namespace gopmill::cli
