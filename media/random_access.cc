// SPDX-License-Identifier: Apache-2.0
#include "media/random_access.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "media/jpeg_tables.h"
#include "media/nal_units.h"
#include "media/old_pictures.h"

namespace gopmill {
namespace {

using nal::AfterStartCode;
using nal::Bytes;

// The payload of a unit without its emulation prevention bytes (H.264 7.3.1).
std::vector<std::uint8_t> Unescaped(Bytes unit) {
  std::vector<std::uint8_t> bytes;
  for (const std::uint8_t byte : unit) {
    const std::size_t n = bytes.size();
    const bool escape = byte == 3 && n >= 2 && bytes[n - 1] == 0 && bytes[n - 2] == 0;
    if (!escape) bytes.push_back(byte);
  }
  return bytes;
}

// Whether a message of this SEI unit is a recovery point from which decoding is exact at once:
// recovery_frame_cnt is ue(v) 0, one bit that is 1, and exact_match_flag is the next (D.1.8).
bool RecoversAtOnce(Bytes unit) {
  constexpr std::uint8_t kRecoveryPoint = 6;
  constexpr std::size_t kMostBytes = 512;
  const std::vector<std::uint8_t> sei = Unescaped(unit.first(std::min(unit.size(), kMostBytes)));
  std::size_t at = 1;  // behind the unit's header
  const auto number = [&] {
    std::size_t value = 0;
    while (at < sei.size() && sei[at] == 0xFF) value += sei[at++];
    return at < sei.size() ? value + sei[at++] : value;
  };
  while (at + 2 < sei.size()) {
    const std::size_t type = number(), size = number();
    if (type == kRecoveryPoint) return size > 0 && at < sei.size() && (sei[at] & 0xC0U) == 0xC0U;
    at += size;
  }
  return false;
}

RandomAccess ClassifyH264(Bytes data, std::size_t length_size, bool key) {
  RandomAccess found = key ? RandomAccess::kRecovery : RandomAccess::kNone;
  nal::ForEach(data, length_size, [&](Bytes unit) {
    const unsigned type = unit[0] & 0x1FU;
    if (type == 6 && key && RecoversAtOnce(unit)) found = RandomAccess::kOpenGop;
    if (type == 5) found = RandomAccess::kClosed;
    return type == 5 || type == 1;  // the first slice decides
  });
  return found;
}

RandomAccess ClassifyHevc(Bytes data, std::size_t length_size, bool key) {
  RandomAccess found = key ? RandomAccess::kRecovery : RandomAccess::kNone;
  nal::ForEach(data, length_size, [&](Bytes unit) {
    const unsigned type = unit[0] >> 1U & 0x3FU;
    if (type > 31) return false;  // parameter sets, SEI
    if (type == 19 || type == 20) found = RandomAccess::kClosed;
    if (type >= 16 && type <= 18)
      found = RandomAccess::kOpenGop;                // BLA: its RASL pictures are lost
    if (type == 21) found = RandomAccess::kOpenGop;  // CRA
    return true;
  });
  return found;
}

// A header with start code `code` whose closed flag is bit `bit` (counted from its first payload
// bit).
std::optional<bool> ClosedFlag(Bytes data, std::uint8_t code, unsigned bit) {
  for (auto at = AfterStartCode(data, 0); at && *at < data.size(); at = AfterStartCode(data, *at)) {
    if (data[*at] != code) continue;
    const std::size_t byte = *at + 1 + bit / 8;
    if (byte >= data.size()) return std::nullopt;
    return (data[byte] >> (7 - bit % 8) & 1U) != 0;
  }
  return std::nullopt;
}

RandomAccess ClassifyMpeg(Bytes data, bool key) {
  if (!key) return RandomAccess::kNone;
  const auto closed = ClosedFlag(data, 0xB8, 25);  // group_start_code, after time_code
  if (!closed) return RandomAccess::kRecovery;     // a key picture without a group's header
  return *closed ? RandomAccess::kClosed : RandomAccess::kOpenGop;
}

RandomAccess ClassifyMpeg4(const AVCodecParameters& parameters, Bytes data, bool key) {
  if (!key) return RandomAccess::kNone;
  const auto closed = ClosedFlag(data, 0xB3, 18);  // group_of_vop_start_code, after time_code
  if (closed) return *closed ? RandomAccess::kClosed : RandomAccess::kOpenGop;
  return parameters.video_delay > 0 ? RandomAccess::kOpenGop : RandomAccess::kClosed;
}

RandomAccess ClassifyMjpeg(Bytes data, bool key) {
  return key && !JpegLacksTables(data) ? RandomAccess::kClosed : RandomAccess::kNone;
}

// None of the old codecs refers to a picture in front of the one before.
RandomAccess ClassifyOther(AVCodecID codec, Bytes data, bool key) {
  return key && OldPictureIsIntra(codec, data).value_or(true) ? RandomAccess::kClosed
                                                              : RandomAccess::kNone;
}

}  // namespace

RandomAccess ClassifyPacket(const AVCodecParameters& parameters, Bytes payload, bool key) {
  switch (static_cast<int>(parameters.codec_id)) {
    case AV_CODEC_ID_H264: return ClassifyH264(payload, nal::LengthSize(parameters), key);
    case AV_CODEC_ID_HEVC: return ClassifyHevc(payload, nal::LengthSize(parameters), key);
    case AV_CODEC_ID_MPEG1VIDEO:
    case AV_CODEC_ID_MPEG2VIDEO: return ClassifyMpeg(payload, key);
    case AV_CODEC_ID_MJPEG: return ClassifyMjpeg(payload, key);
    case AV_CODEC_ID_MPEG4: return ClassifyMpeg4(parameters, payload, key);
    default: return ClassifyOther(parameters.codec_id, payload, key);
  }
}

}  // namespace gopmill
