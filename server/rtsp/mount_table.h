// SPDX-License-Identifier: Apache-2.0
//
// The mount points that URLs have led to: gst-rtsp-server looks media up by path. Each way to write
// a path is one, so the oldest goes when there are too many; a session that plays keeps its media,
// and the next DESCRIBE or ANNOUNCE of its URL mounts it again.
//
// Thread-safety: safe.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include <deque>
#include <string>

#include "base/thread_safety.h"

namespace gopmill {

inline constexpr std::size_t kMaxMountPoints = 2000;

class MountTable {
 public:
  void Mount(GstRTSPMountPoints& mounts, const std::string& path, GstRTSPMediaFactory& factory);

 private:
  Mutex mutex_;
  std::deque<std::string> paths_ GOPMILL_GUARDED_BY(mutex_);  // oldest first
};

}  // namespace gopmill
