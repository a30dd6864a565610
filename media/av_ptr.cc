// SPDX-License-Identifier: Apache-2.0
#include "media/av_ptr.h"

#include "base/status.h"

namespace gopmill::av {

Packet NewPacket() {
  Packet packet(av_packet_alloc());
  GOPMILL_CHECK(packet != nullptr);
  return packet;
}

Frame NewFrame() {
  Frame frame(av_frame_alloc());
  GOPMILL_CHECK(frame != nullptr);
  return frame;
}

Packet Ref(const AVPacket& packet) {
  Packet copy(av_packet_clone(&packet));
  GOPMILL_CHECK(copy != nullptr);
  return copy;
}

Frame Ref(const AVFrame& frame) {
  Frame copy(av_frame_clone(&frame));
  GOPMILL_CHECK(copy != nullptr);
  return copy;
}

}  // namespace gopmill::av
