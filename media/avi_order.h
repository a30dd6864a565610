// SPDX-License-Identifier: Apache-2.0
//
// When the pictures of MPEG-4 with B pictures are shown that AVI holds, which states decoding times
// only. A B picture is shown when it is decoded, any other one when the next of those is: so
// packets wait until that has come. Zero is where the first picture is shown, a frame behind its
// decoding.
//
// Packed bitstreams, which have two pictures in a packet and nothing where the second one belongs,
// are unpacked before.
//
// Thread-safety: thread-compatible.
#pragma once

extern "C" {
#include <libavcodec/bsf.h>
}

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "media/av_ptr.h"

namespace gopmill {

// Packets of all tracks that wait for the next picture; beyond that it is shown when it is decoded.
inline constexpr std::size_t kMaxOrderedPackets = 4096;
inline constexpr std::int64_t kMaxOrderedBytes = 16 << 20;

class AviOrder {
 public:
  // Nothing waits and no time is told unless this track of this container is such.
  void Begin(const AVInputFormat& container, int track, const AVCodecParameters& parameters);
  [[nodiscard]] bool on() const { return on_; }

  // The next packet that was read, of any track.
  void Push(av::Packet packet);
  // None will follow; `code` says why.
  void Finish(int code);
  // As av_read_frame, with the time of a picture told: 0, or what Finish was given, or
  // AVERROR(EAGAIN) where another packet has to come first.
  int Pop(AVPacket& packet);
  // What is read next comes from another place.
  void Clear();

 private:
  void TellTime(std::int64_t next_dts);

  bool Unpack(AVPacket& packet);

  bool on_ = false, begun_ = false;
  std::unique_ptr<AVBSFContext, av::FreeByAddress<av_bsf_free>> unpacker_;  // where it is packed
  int track_ = -1, ended_ = 0;
  std::deque<av::Packet> packets_;
  std::int64_t bytes_ = 0;
  AVPacket* waiting_ = nullptr;  // of packets_: a picture whose time is not known
  std::size_t known_ = 0;        // packets in front of it, all where there is none
  std::int64_t last_dts_ = 0;    // of the pictures
};

}  // namespace gopmill
