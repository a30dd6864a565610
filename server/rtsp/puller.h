// SPDX-License-Identifier: Apache-2.0
//
// Fetches live sources from other RTSP servers (GStreamer's rtspsrc) and publishes them here: all
// the time, or while somebody reads. A source that fails is tried again, later each time.
//
// A build without GStreamer has this interface too: Start says that RTSP is not built.
//
// Thread-safety: Start and the destructor belong to one owner thread. Service must outlive it.
#pragma once

#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "server/api/service.h"
#include "server/rtsp/pull_sources.h"

namespace gopmill {

struct PullOptions {
  std::vector<PullSource> sources;
  // A peer that sends nothing for this long is given up.
  Duration silence = std::chrono::seconds(10);
};

class RtspPuller {
 public:
  static Result<std::unique_ptr<RtspPuller>> Start(const PullOptions& options, Service& service);
  ~RtspPuller();  // stops
  RtspPuller(const RtspPuller&) = delete;
  RtspPuller& operator=(const RtspPuller&) = delete;

 private:
  class Impl;
  explicit RtspPuller(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace gopmill
