// SPDX-License-Identifier: Apache-2.0
//
// What there is to choose from in a bench.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>

namespace gopmill::bench {

// The policies and the options of their rules with a line each, for listings.
std::string PolicyListText();
// The same and the mixes, for --list.
std::string ListText();

}  // namespace gopmill::bench
