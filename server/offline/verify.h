// SPDX-License-Identifier: Apache-2.0
//
// Decodes a finished output and holds it against the plan, from the file alone: the exact number of
// frames, presentation times that rise by one frame each without a gap, the same parameter sets at
// every key frame, the declared maxrate and bufsize over the bytes of the file, sound without
// missing or doubled samples, no damaged packet in picture or sound.
//
// Thread-safety: safe (pure function of the file).
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "base/rational.h"
#include "base/status.h"

namespace gopmill {

struct VerifyTerms {
  std::int64_t frames = 0;
  Rational fps;
  std::int64_t maxrate = 0, bufsize = 0;  // bits per second and bits; 0 = none declared
  std::int64_t audio_packets = 0;         // 0 = no sound
  // Copied sound keeps the gaps and faults of its source: most of its packets must be decodable,
  // where there is a decoder.
  bool audio_copied = false;
};

// Findings in words, empty when the file is what the plan says. An Error when it cannot be read.
Result<std::vector<std::string>> VerifyFile(const std::string& path, const VerifyTerms& terms,
                                            std::stop_token stop);

}  // namespace gopmill
