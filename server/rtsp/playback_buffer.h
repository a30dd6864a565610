// SPDX-License-Identifier: Apache-2.0
//
// What an appsrc of a Playback hands out: packets, and in between what is none.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <gst/gst.h>

#include <cstdint>

#include "server/rtsp/packet_queue.h"

namespace gopmill {

inline GstBuffer* MakeBuffer(const QueuedPacket& packet) {
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, packet.bytes.size(), nullptr);
  gst_buffer_fill(buffer, 0, packet.bytes.data(), packet.bytes.size());
  GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(packet.pts_ns);
  if (packet.dts_ns >= 0) GST_BUFFER_DTS(buffer) = static_cast<GstClockTime>(packet.dts_ns);
  GST_BUFFER_DURATION(buffer) = static_cast<GstClockTime>(packet.duration_ns);
  if (!packet.key) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT);
  return buffer;
}

// Stands for a track that has nothing at the place where the others begin (sound that is shorter
// than the pictures). The library waits for something of each track, and an appsrc that ends
// without a buffer sends nothing it would count, not even its segment.
inline GstBuffer* MakeGap(std::int64_t pts_ns) {
  GstBuffer* buffer = gst_buffer_new();
  GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(pts_ns);
  GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_GAP);
  return buffer;
}
inline bool IsGap(GstBuffer& buffer) {
  return GST_BUFFER_FLAG_IS_SET(&buffer, GST_BUFFER_FLAG_GAP) && gst_buffer_get_size(&buffer) == 0;
}

// Goes behind the last packet of a stream that failed. An appsrc hands one thing out after the
// other, each once what is behind it has taken the one before, which is when that was due.
inline GstBuffer* MakeMarker() { return MakeGap(static_cast<std::int64_t>(GST_CLOCK_TIME_NONE)); }
inline bool IsMarker(GstBuffer& buffer) {
  return IsGap(buffer) && !GST_BUFFER_PTS_IS_VALID(&buffer);
}

}  // namespace gopmill
