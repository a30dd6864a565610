// SPDX-License-Identifier: Apache-2.0
#include "media/nal_units.h"

namespace gopmill::nal {

std::optional<std::size_t> AfterStartCode(Bytes data, std::size_t from) {
  for (std::size_t i = from; i + 3 <= data.size(); ++i) {
    if (data[i] == 0 && data[i + 1] == 0 && data[i + 2] == 1) return i + 3;
  }
  return std::nullopt;
}

std::size_t LengthSize(const AVCodecParameters& parameters) {
  const bool hevc = parameters.codec_id == AV_CODEC_ID_HEVC;
  const int needed = hevc ? 23 : 7;
  if (parameters.extradata_size < needed || parameters.extradata[0] != 1) return 0;
  return (parameters.extradata[hevc ? 21 : 4] & 3U) + 1U;
}

Bytes UnitAt(Bytes data, std::size_t at) {
  constexpr std::size_t kStartCode = 3;
  const Bytes seen = data.first(std::min(data.size(), at + kSeenBytes));
  const auto next = AfterStartCode(seen, at);
  return seen.subspan(at, (next ? *next - kStartCode : seen.size()) - at);
}

}  // namespace gopmill::nal
