// SPDX-License-Identifier: Apache-2.0
#include "base/ip_address.h"

#include <gtest/gtest.h>

namespace gopmill {
namespace {

TEST(IpAddress, StandsInBracketsInAUrlWhereItHasColons) {
  EXPECT_EQ(UrlOf("http", "127.0.0.1", 8080), "http://127.0.0.1:8080");
  EXPECT_EQ(UrlOf("rtmp", "::1", 1935), "rtmp://[::1]:1935");
}

TEST(IpAddress, IsANumberAndNoName) {
  EXPECT_TRUE(CheckIpAddress("http.address", "0.0.0.0").ok());
  EXPECT_TRUE(CheckIpAddress("http.address", "::").ok());
  for (const char* bad : {"", "localhost", "127.0.0", "[::1]", "::1%lo"}) {
    EXPECT_EQ(CheckIpAddress("http.address", bad).error().parameter, "http.address") << bad;
  }
}

}  // namespace
}  // namespace gopmill
