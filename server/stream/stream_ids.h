// SPDX-License-Identifier: Apache-2.0
//
// Which streams of the scheduler have which numbers: those of clients count from 1, what else runs
// there counts from one of the values below. Kinds that may run at the same time never meet.
//
// Thread-safety: safe (constants).
#pragma once

#include <cstdint>

namespace gopmill {

inline constexpr std::uint64_t kThumbnailIds = std::uint64_t{1} << 62U;  // of live presentations
inline constexpr std::uint64_t kDecodeGroupIds = std::uint64_t{3}
                                                 << 61U;               // jobs for several streams
inline constexpr std::uint64_t kSegmentIds = std::uint64_t{1} << 63U;  // renditions of movies

}  // namespace gopmill
