// SPDX-License-Identifier: Apache-2.0
//
// Communication ratios from a file: ratios=FILE.json among the scheduler's options, a JSON array of
// arrays, row i and column j saying what the work of worker i costs on worker j.
//
// Thread-safety: safe (reads files).
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"

namespace gopmill {

inline constexpr std::size_t kMaxRatioFileBytes = std::size_t{4} << 20U;
inline constexpr std::size_t kMaxRatioRows = 256;

// The options with the names of files replaced by what is in them, in the form that
// ParsePolicyOptions takes ("ratios=1/1.5;1.5/1"). kInvalidArgument naming "ratios" when a file
// cannot be read, is too large, or holds anything but N rows of N numbers of 1 to 1e6; the message
// names the row and the column.
Result<std::string> WithRatioFiles(const std::string& options);

}  // namespace gopmill
