// SPDX-License-Identifier: Apache-2.0
#include "media/closed_jumps.h"

#include <algorithm>

namespace gopmill {
namespace {

bool Forwards(const ClosedJump& jump) { return jump.to_us > jump.from_us; }

}  // namespace

std::int64_t WithoutJumps(const ClosedJumps& jumps, std::int64_t us, std::size_t closed) {
  std::size_t past = std::min(closed, jumps.size());
  while (past > 0 && Forwards(jumps[past - 1]) && us < jumps[past - 1].to_us) --past;
  while (past < jumps.size() && Forwards(jumps[past]) && us >= jumps[past].to_us) ++past;
  const std::int64_t shift = past == 0 ? 0 : jumps[past - 1].shift_us;
  const bool may_be_inside = past < jumps.size() && Forwards(jumps[past]);
  return (may_be_inside ? std::min(us, jumps[past].from_us) : us) + shift;
}

std::int64_t ShiftAt(const ClosedJumps& jumps, std::int64_t us) {
  constexpr std::int64_t kSlackMicros = 1'000'000;  // jumps are longer
  std::int64_t shift = 0;
  for (const ClosedJump& jump : jumps) {
    if (!Forwards(jump) || us < jump.to_us - kSlackMicros) break;
    shift = jump.shift_us;
  }
  return shift;
}

}  // namespace gopmill
