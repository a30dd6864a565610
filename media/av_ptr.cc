// SPDX-License-Identifier: Apache-2.0
#include "media/av_ptr.h"

extern "C" {
#include <libavutil/mem.h>
}

#include <algorithm>

#include "base/status.h"

namespace gopmill::av {

Packet NewPacket() {
  Packet packet(av_packet_alloc());
  GOPMILL_CHECK(packet != nullptr);
  return packet;
}

Packet NewPacket(std::span<const std::uint8_t> bytes) {
  Packet packet = NewPacket();
  GOPMILL_CHECK(av_new_packet(packet.get(), static_cast<int>(bytes.size())) >= 0);
  std::ranges::copy(bytes, packet->data);
  return packet;
}

std::uint8_t* NewExtradata(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return nullptr;
  auto* copy = static_cast<std::uint8_t*>(av_mallocz(bytes.size() + AV_INPUT_BUFFER_PADDING_SIZE));
  GOPMILL_CHECK(copy != nullptr);
  std::ranges::copy(bytes, copy);
  return copy;
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

void Ref(const AVPacket& from, AVPacket& to) {
  av_packet_unref(&to);
  GOPMILL_CHECK(av_packet_ref(&to, &from) >= 0);
}

void Ref(const AVFrame& from, AVFrame& to) {
  av_frame_unref(&to);
  GOPMILL_CHECK(av_frame_ref(&to, &from) >= 0);
}

}  // namespace gopmill::av
