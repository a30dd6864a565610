// SPDX-License-Identifier: Apache-2.0
//
// Lists of policies as people type them.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace gopmill::bench {

// "fifo,h-cahrw" or "all", which is all of the registry in its order. kInvalidArgument naming
// "scheduler" for names that are unknown, empty or there twice.
Result<std::vector<std::string>> ParsePolicyList(std::string_view text);

// The policies and the mixes with a line each, for --list.
std::string ListText();

}  // namespace gopmill::bench
