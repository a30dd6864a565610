// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/mount_table.h"

#include <gtest/gtest.h>

#include <string>

#include "server/rtsp/gst_ptr.h"

namespace gopmill {
namespace {

TEST(MountTable, TheOldestGoesWhenThereAreTooMany) {
  gst_init(nullptr, nullptr);
  const auto mounts = gst::Adopt(gst_rtsp_mount_points_new());
  const auto factory = gst::Adopt(gst_rtsp_media_factory_new());
  const auto leads = [&](std::size_t number) {
    const std::string path = "/live/" + std::to_string(number);
    return gst::Adopt(gst_rtsp_mount_points_match(mounts.get(), path.c_str(), nullptr)) != nullptr;
  };
  MountTable table;
  for (int round = 0; round < 2; ++round) {  // who is there already takes no place
    for (std::size_t n = 0; n < kMaxMountPoints; ++n) {
      table.Mount(*mounts, "/live/" + std::to_string(n), *factory);
    }
  }
  EXPECT_TRUE(leads(0));
  table.Mount(*mounts, "/live/" + std::to_string(kMaxMountPoints), *factory);
  EXPECT_FALSE(leads(0));
  EXPECT_TRUE(leads(1));
  EXPECT_TRUE(leads(kMaxMountPoints));
  table.Mount(*mounts, "/live/0", *factory);
  EXPECT_TRUE(leads(0));
  EXPECT_FALSE(leads(1));
}

}  // namespace
}  // namespace gopmill
