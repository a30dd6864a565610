// SPDX-License-Identifier: Apache-2.0
#include "codec/encoder_info.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace gopmill {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::array<std::uint8_t, 16> kX264Uuid = {0xdc, 0x45, 0xe9, 0xbd, 0xe6, 0xd9, 0x48, 0xb7,
                                                    0x96, 0x2c, 0xd8, 0x20, 0xd9, 0x23, 0xee, 0xef};
constexpr std::array<std::uint8_t, 16> kX265Uuid = {0x2c, 0xa2, 0xde, 0x09, 0xb5, 0x17, 0x47, 0xdb,
                                                    0xbb, 0x55, 0xa4, 0xfe, 0x7f, 0xc2, 0xfc, 0x4e};
constexpr std::uint8_t kUserDataUnregistered = 5;

// One NAL unit within its packet.
struct Nal {
  Bytes whole;  // with its start code or length
  Bytes body;   // from the header byte on
};

// Is `body` an SEI whose first message starts with the UUID? x264 and x265 put it in a NAL unit
// of its own.
bool IsEncoderText(Bytes body, std::size_t header_bytes, Bytes uuid) {
  if (body.size() < header_bytes + 2 || body[header_bytes] != kUserDataUnregistered) return false;
  std::size_t at = header_bytes + 1;
  while (at < body.size() && body[at] == 0xff) ++at;  // a size above 254 takes several bytes
  ++at;
  return body.size() >= at + uuid.size() && std::equal(uuid.begin(), uuid.end(), body.data() + at);
}

bool IsEncoderText(Bytes body) {
  if (body.size() < 2) return false;
  const bool h264_sei = (body[0] & 0x1f) == 6;
  const bool hevc_sei = (body[0] >> 1 & 0x3f) == 39;
  return (h264_sei && IsEncoderText(body, 1, kX264Uuid)) ||
         (hevc_sei && IsEncoderText(body, 2, kX265Uuid));
}

Bytes DataOf(const AVPacket& packet) {
  if (packet.data == nullptr || packet.size <= 0) return {};
  return {packet.data, static_cast<std::size_t>(packet.size)};
}

// Position of the next 00 00 01 at or after `from`, or the size.
std::size_t NextStartCode(Bytes data, std::size_t from) {
  for (std::size_t i = from; i + 3 <= data.size(); ++i) {
    if (data[i] == 0 && data[i + 1] == 0 && data[i + 2] == 1) return i;
  }
  return data.size();
}

std::vector<Nal> SplitStartCodes(Bytes data) {
  std::vector<Nal> nals;
  std::size_t begin = NextStartCode(data, 0);
  std::size_t whole_begin = 0;
  while (begin < data.size()) {
    const std::size_t body = begin + 3;
    const std::size_t next = NextStartCode(data, body);
    // A zero byte in front of a start code belongs to it.
    const std::size_t end =
        next < data.size() && next > body && data[next - 1] == 0 ? next - 1 : next;
    nals.push_back({data.subspan(whole_begin, end - whole_begin), data.subspan(body, end - body)});
    whole_begin = end;
    begin = next;
  }
  return nals;
}

// Empty if the lengths do not add up to the packet: then it is no such packet.
std::vector<Nal> SplitLengths(Bytes data) {
  std::vector<Nal> nals;
  while (!data.empty()) {
    if (data.size() < 4) return {};
    const std::size_t size = std::size_t{data[0]} << 24U | std::size_t{data[1]} << 16U |
                             std::size_t{data[2]} << 8U | std::size_t{data[3]};
    if (size == 0 || size > data.size() - 4) return {};
    nals.push_back({data.first(4 + size), data.subspan(4, size)});
    data = data.subspan(4 + size);
  }
  return nals;
}

// 00 00 01 may begin a length of 256 to 511 as well: then the lengths add up.
std::vector<Nal> Split(Bytes data) {
  constexpr std::array<std::uint8_t, 4> kLongCode = {0, 0, 0, 1};
  const bool start_code =
      data.size() >= 4 && std::equal(kLongCode.begin(), kLongCode.end(), data.begin());
  std::vector<Nal> nals = start_code ? std::vector<Nal>() : SplitLengths(data);
  return nals.empty() ? SplitStartCodes(data) : nals;
}

bool IsParameterSet(Bytes body, AVCodecID codec) {
  if (body.empty()) return false;
  if (codec == AV_CODEC_ID_H264) return (body[0] & 0x1f) == 7 || (body[0] & 0x1f) == 8;
  const int type = body[0] >> 1 & 0x3f;
  return codec == AV_CODEC_ID_HEVC && type >= 32 && type <= 34;
}

// FNV-1a, 64 bits.
constexpr std::uint64_t kHashOfNothing = 0xcbf29ce484222325ULL;
std::uint64_t Extend(std::uint64_t hash, Bytes bytes) {
  for (const std::uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3ULL;
  return hash;
}

}  // namespace

std::int64_t EncoderInfoBytes(const AVPacket& packet) {
  std::size_t bytes = 0;
  for (const Nal& nal : Split(DataOf(packet))) {
    if (IsEncoderText(nal.body)) bytes += nal.whole.size();
  }
  return static_cast<std::int64_t>(bytes);
}

bool StripEncoderInfo(AVPacket& packet) {
  const Bytes data = DataOf(packet);
  const std::vector<Nal> nals = Split(data);
  const auto is_text = [](const Nal& nal) { return IsEncoderText(nal.body); };
  if (std::none_of(nals.begin(), nals.end(), is_text)) return false;
  if (av_packet_make_writable(&packet) < 0) return false;
  std::uint8_t* to = packet.data;
  for (const Nal& nal : nals) {
    if (is_text(nal)) continue;
    // Offsets are the same in the writable copy.
    const auto offset = nal.whole.data() - data.data();
    to = std::copy_n(packet.data + offset, nal.whole.size(), to);
  }
  av_shrink_packet(&packet, static_cast<int>(to - packet.data));
  return true;
}

std::uint64_t ParameterSetHash(const AVCodecContext& context) {
  if (context.extradata == nullptr || context.extradata_size <= 0) return kHashOfNothing;
  const Bytes data(context.extradata, static_cast<std::size_t>(context.extradata_size));
  const std::vector<Nal> nals = Split(data);
  std::uint64_t hash = kHashOfNothing;
  if (nals.empty()) hash = Extend(hash, data);
  for (const Nal& nal : nals) {
    if (!IsEncoderText(nal.body)) hash = Extend(hash, nal.whole);
  }
  return hash;
}

std::uint64_t InBandParameterSetHash(const AVPacket& packet, AVCodecID codec) {
  if (codec != AV_CODEC_ID_H264 && codec != AV_CODEC_ID_HEVC) return 0;
  if (packet.data == nullptr || packet.size <= 0) return 0;
  const Bytes data(packet.data, static_cast<std::size_t>(packet.size));
  std::uint64_t hash = kHashOfNothing;
  for (const Nal& nal : Split(data)) {
    // Without what ends a unit in some containers: zero bytes in front of the next start code.
    Bytes body = nal.body;
    while (!body.empty() && body.back() == 0) body = body.first(body.size() - 1);
    if (IsParameterSet(body, codec)) hash = Extend(hash, body);
  }
  return hash == kHashOfNothing ? 0 : hash;
}

}  // namespace gopmill
