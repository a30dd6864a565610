// SPDX-License-Identifier: Apache-2.0
//
// What the planners need to know of the video packets of a source, read packet by packet.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "media/av_ptr.h"
#include "media/source_info.h"
#include "media/timestamp_repair.h"
#include "media/unit_planner.h"

namespace gopmill {

// The first picture of a source (after repair) gets a pts if it has none: the clock starts with it.
void GiveTime(AVPacket& first, const VideoInfo& video);

// Tracks of a repair for this source, in this order.
inline constexpr std::size_t kVideoTrack = 0, kAudioTrack = 1;  // and further ones behind it
std::vector<TimestampRepair::Track> RepairTracks(const SourceInfo& info);

// Where the pictures of a source begin: at its first packet, or where that is hidden, at the
// earliest picture of the first that are shown.
class FirstShown {
 public:
  // The next packet from the first on, in decode order, after repair. Whether pts() is known; at
  // the source's end it is what has been seen of it.
  bool Push(SourceTicks pts, bool hidden);
  [[nodiscard]] SourceTicks pts() const { return pts_; }

 private:
  SourceTicks pts_ = 0;
  int shown_ = 0;
  bool begun_ = false;
};

// Describes the packets of one source from its first one on, in decode order, after repair.
class PacketDescriber {
 public:
  // `counted_pts`: the container gives no usable times, pictures are counted.
  PacketDescriber(std::shared_ptr<const SourceInfo> source, bool counted_pts)
      : source_(std::move(source)), counted_pts_(counted_pts) {}

  // The packets from the next one on are coded so, on the same clock.
  void ChangeCoding(std::shared_ptr<const SourceInfo> source) { source_ = std::move(source); }

  // A hidden packet lies right behind what is shown so far: it is needed for nothing before that.
  PacketMeta Describe(const AVPacket& packet);

 private:
  void FillIn(const AVPacket& packet, PacketMeta& meta);

  std::shared_ptr<const SourceInfo> source_;
  bool counted_pts_;
  bool pts_missing_ = false;  // of some packet so far
  std::int64_t number_ = 0;
  std::optional<SourceTicks> latest_;  // that is shown
};

}  // namespace gopmill
