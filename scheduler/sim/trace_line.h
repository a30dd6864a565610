// SPDX-License-Identifier: Apache-2.0
//
// One line of a recorded trace, from text and to it (trace.h has the form).
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>

#include "base/status.h"
#include "scheduler/sim/trace.h"

namespace gopmill {

// What lines look like, for errors.
inline constexpr const char* kTraceHeaderForm =
    R"({"format":"gopmill-trace","version":1,"machine":"text","unit":"text"})";
inline constexpr const char* kTraceUnitForm =
    R"({"arrival_ms":0,"stream":1,"number":0,"class":"","index":0,"bytes":1,"context":1,"hot_ms":1})"
    " and perhaps frames, cold_ms, deadline_ms";

// Of the parameter "trace".
Error BadTrace(std::string message, std::string accepted);

// The first thing that is wrong is the error; it does not tell which line it is.
Result<TraceHeader> ParseTraceHeader(const std::string& line);
Result<TraceUnit> ParseTraceUnit(const std::string& line);
// Whether it is JSON, whatever it says: half a line is none.
bool IsWholeTraceLine(const std::string& line);

// With the line break. Values must be within the limits of trace.h.
std::string TraceHeaderLine(const TraceHeader& header);
std::string TraceUnitLine(const TraceUnit& unit);

}  // namespace gopmill
