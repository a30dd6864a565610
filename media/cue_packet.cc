// SPDX-License-Identifier: Apache-2.0
#include "media/cue_packet.h"

#include <cstdint>
#include <span>

namespace gopmill {

av::Packet MakeCuePacket(const SubtitleCue& cue, int number) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(cue.text.data());
  av::Packet packet = av::NewPacket(std::span(bytes, cue.text.size()));
  packet->pts = packet->dts = cue.start_us;
  packet->duration = cue.end_us == kNoEnd ? 0 : cue.end_us - cue.start_us;
  packet->flags |= AV_PKT_FLAG_KEY;
  packet->stream_index = number;
  return packet;
}

SubtitleCue ReadCuePacket(const AVPacket& packet) {
  const std::string_view text(reinterpret_cast<const char*>(packet.data),
                              static_cast<std::size_t>(packet.size));
  return {.start_us = packet.pts,
          .end_us = packet.duration > 0 ? packet.pts + packet.duration : kNoEnd,
          .text = std::string(text)};
}

}  // namespace gopmill
