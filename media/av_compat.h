// SPDX-License-Identifier: Apache-2.0
//
// What differs between the FFmpeg versions we compile with (5.1 to 7.x), in one place. Everything
// else in the project is written against the newest form common to all of them.
//
// Thread-safety: safe; each call touches what it is given alone.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/frame.h>
#include <libavutil/mem.h>
}

#include <cstdint>
#include <cstring>
#include <span>

namespace gopmill::av {

// Type of the bytes that a write callback of an AVIOContext is given.
#if LIBAVFORMAT_VERSION_MAJOR >= 61
using AvioWriteByte = const std::uint8_t;
#else
using AvioWriteByte = std::uint8_t;
#endif

// Attaches stream-level side data to a stream being muxed; false = out of memory. Since 6.1 it
// lives in the codec parameters, before that in the stream.
inline bool AddStreamSideData(AVStream& stream, AVPacketSideDataType type,
                              std::span<const std::uint8_t> bytes) {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 31, 102)
  AVCodecParameters& parameters = *stream.codecpar;
  AVPacketSideData* entry = av_packet_side_data_new(
      &parameters.coded_side_data, &parameters.nb_coded_side_data, type, bytes.size(), 0);
  std::uint8_t* data = entry == nullptr ? nullptr : entry->data;
#else
  std::uint8_t* data = av_stream_new_side_data(&stream, type, bytes.size());
#endif
  if (data == nullptr) return false;
  std::memcpy(data, bytes.data(), bytes.size());
  return true;
}

// Removes stream-level side data that avcodec_parameters_copy may have brought along.
inline void RemoveStreamSideData(AVStream& stream, AVPacketSideDataType type) {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 31, 102)
  AVCodecParameters& parameters = *stream.codecpar;
  av_packet_side_data_remove(parameters.coded_side_data, &parameters.nb_coded_side_data, type);
#else
  static_cast<void>(stream);
  static_cast<void>(type);
#endif
}

// Field order flags of a frame became bits of AVFrame::flags in libavutil 58.7.
inline bool IsInterlaced(const AVFrame& frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 7, 100)
  return (frame.flags & AV_FRAME_FLAG_INTERLACED) != 0;
#else
  return frame.interlaced_frame != 0;
#endif
}

}  // namespace gopmill::av
