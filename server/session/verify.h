// SPDX-License-Identifier: Apache-2.0
//
// Decodes a finished output and holds it against the plan: the exact number of frames, presentation
// times that rise by one frame each without a gap, no damaged packet in picture or sound.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "base/rational.h"
#include "base/status.h"

namespace gopmill {

// Findings in words, empty when the file is what the plan says. An Error when it cannot be read.
Result<std::vector<std::string>> VerifyFile(const std::string& path, std::int64_t frames,
                                            Rational fps, std::stop_token stop);

}  // namespace gopmill
