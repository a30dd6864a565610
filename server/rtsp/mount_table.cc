// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/mount_table.h"

#include <algorithm>

#include "server/rtsp/gst_ptr.h"

namespace gopmill {

void MountTable::Mount(GstRTSPMountPoints& mounts, const std::string& path,
                       GstRTSPMediaFactory& factory) {
  const MutexLock lock(mutex_);
  if (std::ranges::find(paths_, path) != paths_.end()) return;
  gst_rtsp_mount_points_add_factory(&mounts, path.c_str(), gst::Share(&factory).release());
  paths_.push_back(path);
  if (paths_.size() <= kMaxMountPoints) return;
  gst_rtsp_mount_points_remove_factory(&mounts, paths_.front().c_str());
  paths_.pop_front();
}

}  // namespace gopmill
