// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <memory>

namespace gopmill {

Status InitLogging(std::string_view level, LogFormat format) {
  const auto parsed = spdlog::level::from_str(std::string(level));
  if (parsed == spdlog::level::off && level != "off") {
    return InvalidArgument("log-level", "Unknown log level '" + std::string(level) + "'.",
                           "trace, debug, info, warning, error, off");
  }
  auto logger = format == LogFormat::kJson ? spdlog::stderr_logger_mt("gopmill")
                                           : spdlog::stderr_color_mt("gopmill");
  if (format == LogFormat::kJson) {
    // The message part is written by callers as plain text; quotes are escaped by the formatter.
    logger->set_pattern(R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","message":"%v"})");
  } else {
    logger->set_pattern("%H:%M:%S.%e %^%l%$ %v");
  }
  logger->set_level(parsed);
  spdlog::set_default_logger(std::move(logger));
  return OkStatus();
}

}  // namespace gopmill
