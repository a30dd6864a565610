// SPDX-License-Identifier: Apache-2.0
//
// What there is to choose from in a bench.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>

namespace gopmill::bench {

// The policies and the mixes with a line each, for --list.
std::string ListText();

}  // namespace gopmill::bench
