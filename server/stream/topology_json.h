// SPDX-License-Identifier: Apache-2.0
//
// The machine as JSON. Thread-safety: safe (pure function).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "scheduler/topology.h"

namespace gopmill {

// The tree from the machine down: "kind", "os_index" where the operating system has a number,
// "cache_bytes" of caches, "children".
nlohmann::ordered_json MachineJson(const Topology& topology);

}  // namespace gopmill
