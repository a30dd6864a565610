// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/dump_json.h"
#include "base/shared_settings.h"
#include "base/utc_time.h"
#include "base/utf8.h"

namespace gopmill {
namespace {

std::optional<spdlog::level::level_enum> ParseLevel(std::string_view level) {
  if (std::ranges::find(kLogLevels, level) == std::end(kLogLevels)) return std::nullopt;
  return spdlog::level::from_str(std::string(level));
}

Error UnknownLevel(std::string_view level) {
  return InvalidArgument("log-level", "Unknown log level '" + std::string(level) + "'.",
                         std::string(kLogLevelsText));
}

void Append(spdlog::memory_buf_t& out, std::string_view text) {
  out.append(text.data(), text.data() + text.size());
}

// What a client named must not end a line of the log, nor tell a terminal anything.
void AppendPrintable(spdlog::memory_buf_t& out, std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = CharacterLength(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    if (length != 0 && !IsControl(character)) {
      Append(out, character);
    } else {
      for (const char byte : character) {
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(byte));
      }
    }
    text.remove_prefix(character.size());
  }
}

// Takes the place of spdlog's own "%v".
class PrintablePayload : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& out) override {
    AppendPrintable(out, {message.payload.data(), message.payload.size()});
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<PrintablePayload>();
  }
};

class JsonFormatter : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    fmt::format_to(std::back_inserter(out), R"({{"time":"{}","level":")", UtcMillis(message.time));
    const auto level = spdlog::level::to_string_view(message.level);
    Append(out, {level.data(), level.size()});
    Append(out, R"(","message":)");
    Append(out,
           DumpJson(nlohmann::json(std::string(message.payload.data(), message.payload.size()))));
    Append(out, "}\n");
  }
  [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }
};

}  // namespace

std::unique_ptr<spdlog::formatter> MakeJsonLogFormatter() {
  return std::make_unique<JsonFormatter>();
}

std::unique_ptr<spdlog::formatter> MakeTextLogFormatter() {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<PrintablePayload>('v').set_pattern("%H:%M:%S.%e %^%l%$ %v");
  return formatter;
}

Status InitLogging(std::string_view level, LogFormat format) {
  const auto parsed = ParseLevel(level);
  if (!parsed) return UnknownLevel(level);
  auto logger = format == LogFormat::kJson ? spdlog::stderr_logger_mt("gopmill")
                                           : spdlog::stderr_color_mt("gopmill");
  logger->set_formatter(format == LogFormat::kJson ? MakeJsonLogFormatter()
                                                   : MakeTextLogFormatter());
  logger->set_level(*parsed);
  spdlog::set_default_logger(std::move(logger));
  return OkStatus();
}

Status SetLogLevel(std::string_view level) {
  const auto parsed = ParseLevel(level);
  if (!parsed) return UnknownLevel(level);
  spdlog::default_logger()->set_level(*parsed);
  return OkStatus();
}

}  // namespace gopmill
