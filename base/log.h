// SPDX-License-Identifier: Apache-2.0
//
// Logging, on spdlog. Levels by how often the event happens: error = needs a person; warning = a
// stream was repaired or refused; info = once per stream or per start; debug = once per unit;
// trace = once per frame or packet.
//
// Log lines go to stderr; stdout belongs to the media or the report. Thread-safety: safe.
#pragma once

#include <spdlog/spdlog.h>

#include <string_view>

#include "base/status.h"

namespace gopmill {

enum class LogFormat { kText, kJson };

// Sets up the process-wide logger. `level` is one of trace, debug, info, warning, error, off.
// Call once from main before any thread starts.
Status InitLogging(std::string_view level, LogFormat format);

}  // namespace gopmill
