// SPDX-License-Identifier: Apache-2.0
//
// A limit on what this process may have in memory, and whether something was refused because of it.
// FFmpeg takes many a refusal for damage and goes on, so errors alone would not tell.
//
// Not with sanitizers, which reserve terabytes: there it does nothing.
//
// Thread-safety: safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gopmill {

void LimitMemory(std::size_t bytes);
// Since the start. Where `new` is refused the process ends.
std::int64_t RefusedAllocations();
// The largest of them.
std::size_t LargestRefused();

}  // namespace gopmill
