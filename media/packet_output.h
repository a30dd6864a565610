// SPDX-License-Identifier: Apache-2.0
//
// What stands at the end of a stream's way out: it takes the coded packets of all tracks, merged by
// decoding time. Either a muxer (media/muxer), a PacketForwarder for protocols that carry packets
// themselves (RTSP), or what cuts segments (server/live/live_segmenter).
//
// Thread-safety: thread-compatible; owned by the stream's egress thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/rational.h"
#include "base/status.h"
#include "media/av_ptr.h"
#include "media/track_kind.h"

namespace gopmill {

class PacketOutput {
 public:
  virtual ~PacketOutput() = default;
  // Takes pts, dts and duration in the track's time base.
  virtual Status Write(std::size_t track, av::Packet packet) = 0;
  // Marks a place where what was written may be handed on as a piece.
  virtual Status EndFragment() = 0;
  // Such a place that is also the end of a GOP: the next picture is a key frame.
  virtual Status EndUnit() { return EndFragment(); }
  virtual Status Finish() = 0;
  // Whether packets of all tracks must come merged by decoding time, not each as soon as it can.
  [[nodiscard]] virtual bool merged() const { return true; }
  [[nodiscard]] virtual std::int64_t bytes_written() const = 0;
  [[nodiscard]] virtual std::int64_t packets_written(std::size_t track) const = 0;
};

// A track as somebody without FFmpeg sees it.
struct CodedTrack {
  TrackKind kind = TrackKind::kVideo;
  std::string codec = {};  // FFmpeg's name: "h264", "aac"
  std::vector<std::uint8_t> extradata =
      {};                             // AAC: AudioSpecificConfig. Video: may be empty (Annex B)
  Rational frame_rate = {};           // video
  int width = 0, height = 0;          // video, pixels
  int sample_rate = 0, channels = 0;  // audio
};

// One packet, its bytes borrowed for the call. Times in nanoseconds of the output clock; they may
// lie before zero (an encoder's priming, the decoding time of reordered pictures).
struct CodedPacket {
  std::size_t track = 0;
  std::span<const std::uint8_t> bytes = {};
  std::int64_t pts_ns = 0, dts_ns = 0, duration_ns = 0;
  bool key = false;
};

struct MuxTrack;

// Hands packets on as they are.
class PacketForwarder : public PacketOutput {
 public:
  using OnPacket = std::function<Status(const CodedPacket&)>;
  PacketForwarder(std::span<const MuxTrack> tracks, OnPacket on_packet);
  static std::vector<CodedTrack> Describe(std::span<const MuxTrack> tracks);

  Status Write(std::size_t track, av::Packet packet) override;
  Status EndFragment() override { return OkStatus(); }
  Status Finish() override { return OkStatus(); }
  [[nodiscard]] std::int64_t bytes_written() const override { return bytes_; }
  [[nodiscard]] std::int64_t packets_written(std::size_t track) const override;

 private:
  const OnPacket on_packet_;
  std::vector<Rational> time_bases_;
  std::vector<std::int64_t> packets_;
  std::int64_t bytes_ = 0;
};

}  // namespace gopmill
