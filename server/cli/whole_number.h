// SPDX-License-Identifier: Apache-2.0
//
// Whole numbers on the command line, as the settings take them: digits and nothing else. CLI11
// alone reads what begins with a 0 as octal or hexadecimal, and takes blanks and signs.
//
// Thread-safety: safe (pure function).
#pragma once

#include <cstdint>

namespace CLI {
class Validator;
}

namespace gopmill::cli {

// For Option::transform, so that the option gets the number without zeros in front, or for
// Option::check where it takes text. 0 <= low <= high.
CLI::Validator WholeNumber(std::int64_t low, std::int64_t high);

}  // namespace gopmill::cli
