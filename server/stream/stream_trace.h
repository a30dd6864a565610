// SPDX-License-Identifier: Apache-2.0
//
// The way of a stream's units through the machine, as a trace that ui.perfetto.dev shows:
//
//   source    [read 0][read 1][read 2][window full][read 3]
//                   |       |
//   worker 0        +->[1/0]|      [1/2   ]
//   worker 1                +->[1/1     ]     [1/3  ]       each arrow one unit
//                           |           |
//   output                  +->[send 0] +->[send 1][send 2]
//
// A unit is "sent" from the time it is done, and all units in front of it are out, until it is out
// itself. Beside the lanes each unit has a track with its waits (TraceEventWriter::Track).
//
// Thread-safety: safe (pure function).
#pragma once

#include <span>
#include <string>

#include "scheduler/scheduler.h"
#include "server/stream/stream_stats.h"

namespace gopmill {

// Of the units in its log; `workers` are all that there are.
std::string StreamTraceJson(const StreamSnapshot& stream, std::span<const WorkerStats> workers);

}  // namespace gopmill
