// SPDX-License-Identifier: Apache-2.0
//
// Where the times of a source's pictures have jumped, and were closed up (TimestampRepair). What
// has no clock of its own to tell jumps by, text and chapters, is moved by them once they are
// known.
//
// Times are microseconds since the source's zero.
//
// Thread-safety: safe (plain values, pure functions).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gopmill {

struct ClosedJump {
  std::int64_t from_us = 0,
               to_us = 0;     // as the source has them: where it should go on; where it does
  std::int64_t shift_us = 0;  // what is added to its times from there on
};
using ClosedJumps = std::vector<ClosedJump>;

// More of one source are not remembered.
inline constexpr std::size_t kMaxClosedJumps = 10'000;

// Where a time of the source lies once jumps are closed; what lies in one forwards comes to its
// place. Of something read when the first `closed` of them had been: behind a jump backwards times
// come again.
std::int64_t WithoutJumps(const ClosedJumps& jumps, std::int64_t us, std::size_t closed = 0);

// What is added to times where this time of the source is: by those forwards in front of it, up to
// the first backwards. Who begins to read there has not seen them.
std::int64_t ShiftAt(const ClosedJumps& jumps, std::int64_t us);

}  // namespace gopmill
