// SPDX-License-Identifier: Apache-2.0
#include "media/parameter_watch.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "media/nal_units.h"

namespace gopmill {
namespace {

constexpr std::uint64_t kEmpty = 0xCBF29CE484222325ULL, kPrime = 0x100000001B3ULL;

// FNV-1a, from `hash` on.
std::uint64_t Hash(nal::Bytes bytes, std::uint64_t hash) {
  for (const std::uint8_t byte : bytes) hash = (hash ^ byte) * kPrime;
  return hash;
}

std::uint64_t HashOfSps(const AVCodecParameters& parameters, nal::Bytes data) {
  const bool hevc = parameters.codec_id == AV_CODEC_ID_HEVC;
  // Of distinct ones in any order: a packet may bring one twice, from its header as well.
  std::vector<std::uint64_t> seen;
  nal::ForEach(data, nal::LengthSize(parameters), [&](nal::Bytes unit) {
    const unsigned type = hevc ? unit[0] >> 1U & 0x3FU : unit[0] & 0x1FU;
    // Zeros may stand between a unit and the next start code.
    while (!unit.empty() && unit.back() == 0) unit = unit.first(unit.size() - 1);
    if (type == (hevc ? 33U : 7U)) seen.push_back(Hash(unit, kEmpty));
    return hevc ? type < 32 : type == 1 || type == 5;  // a slice
  });
  std::ranges::sort(seen);
  const auto repeated = std::ranges::unique(seen);
  seen.erase(repeated.begin(), repeated.end());
  return std::accumulate(seen.begin(), seen.end(), kEmpty,
                         [](std::uint64_t sum, std::uint64_t one) { return (sum ^ one) * kPrime; });
}

// ISO/IEC 13818-2 6.2.2.1: 12 bits of width and of height behind the sequence_header_code.
std::uint64_t HashOfSequence(nal::Bytes data) {
  constexpr std::uint8_t kSequence = 0xB3;
  for (auto at = nal::AfterStartCode(data, 0); at && *at + 4 <= data.size();
       at = nal::AfterStartCode(data, *at)) {
    if (data[*at] == kSequence) return Hash(data.subspan(*at + 1, 3), kEmpty);
    if (data[*at] < kSequence) break;  // pictures and slices
  }
  return kEmpty;
}

}  // namespace

bool ParameterWatch::Changed(const AVCodecParameters& parameters, const AVPacket& packet) {
  const nal::Bytes data(packet.data, static_cast<std::size_t>(packet.size));
  std::uint64_t hash = kEmpty;
  switch (static_cast<int>(parameters.codec_id)) {
    case AV_CODEC_ID_H264:
    case AV_CODEC_ID_HEVC: hash = HashOfSps(parameters, data); break;
    case AV_CODEC_ID_MPEG1VIDEO:
    case AV_CODEC_ID_MPEG2VIDEO: hash = HashOfSequence(data); break;
    default: return false;
  }
  if (hash == kEmpty) return false;
  const bool changed = seen_ && *seen_ != hash;
  seen_ = hash;
  return changed;
}

}  // namespace gopmill
