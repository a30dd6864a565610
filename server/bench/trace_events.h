// SPDX-License-Identifier: Apache-2.0
//
// Runs as Chrome trace events, for chrome://tracing and ui.perfetto.dev: each run is a process,
// each worker a thread with one slice per unit; each stream is an async track on which every unit
// goes from submitted to released, with its waits inside.
//
// Thread-safety: safe (pure function).
#pragma once

#include <string>
#include <vector>

#include "server/bench/run_record.h"

namespace gopmill::bench {

std::string TraceEventsJson(const std::vector<const RunRecord*>& runs);

}  // namespace gopmill::bench
