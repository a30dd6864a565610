// SPDX-License-Identifier: Apache-2.0
//
// How many samples a packet of sound brings. Containers that round times (Matroska to milliseconds)
// do not say it exactly: of most codecs FFmpeg knows it, of some (DTS, Vorbis) only the packet
// does.
//
// Thread-safety: thread-compatible.
#pragma once

#include "media/av_ptr.h"
#include "media/source_info.h"

namespace gopmill {

class PacketSamples {
 public:
  explicit PacketSamples(const AudioInfo& audio);
  ~PacketSamples();
  PacketSamples(const PacketSamples&) = delete;
  PacketSamples& operator=(const PacketSamples&) = delete;

  // Of the next packet of the track, in order; 0 = nobody knows.
  int Of(const AVPacket& packet);

 private:
  // By the packet itself, or 0.
  int Parsed(const AVPacket& packet);

  const AudioInfo& audio_;
  AVCodecParserContext* parser_ = nullptr;  // null: FFmpeg has none
  av::CodecContext codec_;
};

}  // namespace gopmill
