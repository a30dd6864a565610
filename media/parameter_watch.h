// SPDX-License-Identifier: Apache-2.0
//
// Notices that a stream goes on with other parameter sets that lie among its pictures, as transport
// streams have them: H.264 and HEVC with another SPS, MPEG-1 and 2 with another frame size in the
// sequence header. Decoders take that as it comes; here it is only seen.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <optional>

#include "media/av_ptr.h"

namespace gopmill {

class ParameterWatch {
 public:
  // The next packet of a video track with these parameters: whether it brings others than those
  // seen last. Packets without any, and the first with some, do not.
  bool Changed(const AVCodecParameters& parameters, const AVPacket& packet);

 private:
  std::optional<std::uint64_t> seen_;  // hash of them
};

}  // namespace gopmill
