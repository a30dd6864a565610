// SPDX-License-Identifier: Apache-2.0
//
// Logging, on spdlog. Levels by how often the event happens: error = needs a person; warning = a
// stream was repaired or refused; info = once per stream or per start; debug = once per unit;
// trace = once per frame or packet.
//
// Log lines go to stderr; stdout belongs to the media or the report. A message is one line whatever
// it holds; as JSON, one valid object. Thread-safety: safe.
#pragma once

#include <spdlog/formatter.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <string_view>

#include "base/status.h"

namespace gopmill {

enum class LogFormat { kText, kJson };

// Sets up the process-wide logger. `level` is one of kLogLevels (base/shared_settings.h).
// Call once from main before any thread starts.
Status InitLogging(std::string_view level, LogFormat format);

// Changes the level of the process-wide logger, at any time.
Status SetLogLevel(std::string_view level);

// Writes {"time":"2026-01-31T12:00:00.123Z","level":"info","message":"..."} and a line break. Bytes
// that are not UTF-8 become U+FFFD.
std::unique_ptr<spdlog::formatter> MakeJsonLogFormatter();

// Writes "12:00:00.123 info ..." in local time and a line break. Control characters and bytes that
// are not UTF-8 become "\x0a".
std::unique_ptr<spdlog::formatter> MakeTextLogFormatter();

}  // namespace gopmill
