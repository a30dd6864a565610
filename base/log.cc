// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <chrono>
#include <cstddef>
#include <ctime>
#include <memory>
#include <optional>

namespace gopmill {
namespace {

std::optional<spdlog::level::level_enum> ParseLevel(std::string_view level) {
  for (const std::string_view known : {"trace", "debug", "info", "warning", "error", "off"}) {
    if (level == known) return spdlog::level::from_str(std::string(level));
  }
  return std::nullopt;
}

Error UnknownLevel(std::string_view level) {
  return InvalidArgument("log-level", "Unknown log level '" + std::string(level) + "'.",
                         "trace, debug, info, warning, error, off");
}

void Append(spdlog::memory_buf_t& out, std::string_view text) {
  out.append(text.data(), text.data() + text.size());
}

// Length of the UTF-8 sequence at the start of `text`, or 0 if there is none: overlong forms,
// surrogates and values above U+10FFFF are not UTF-8.
std::size_t Utf8Length(std::string_view text) {
  const auto byte = [&text](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto follows = [&byte](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = first == 0xED && byte(1) > 0x9F;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool overlong = first == 0xF0 && byte(1) < 0x90;
    const bool beyond = first == 0xF4 && byte(1) > 0x8F;
    return follows(1) && follows(2) && follows(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

void AppendEscaped(spdlog::memory_buf_t& out, std::string_view text) {
  while (!text.empty()) {
    const char c = text.front();
    const std::size_t length = Utf8Length(text);
    if (length == 0) {
      Append(out, "\\ufffd");
    } else if (c == '"' || c == '\\') {
      const char escaped[] = {'\\', c};
      Append(out, {escaped, 2});
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      Append(out, text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
}

class JsonFormatter : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const auto since = message.time.time_since_epoch();
    const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
    const auto seconds = static_cast<std::time_t>(millis / 1000);
    std::tm utc = {};
    gmtime_r(&seconds, &utc);
    fmt::format_to(std::back_inserter(out),
                   R"({{"time":"{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z","level":")",
                   utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min,
                   utc.tm_sec, millis % 1000);
    const auto level = spdlog::level::to_string_view(message.level);
    Append(out, {level.data(), level.size()});
    Append(out, R"(","message":")");
    AppendEscaped(out, {message.payload.data(), message.payload.size()});
    Append(out, "\"}\n");
  }
  [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }
};

}  // namespace

std::unique_ptr<spdlog::formatter> MakeJsonLogFormatter() {
  return std::make_unique<JsonFormatter>();
}

Status InitLogging(std::string_view level, LogFormat format) {
  const auto parsed = ParseLevel(level);
  if (!parsed) return UnknownLevel(level);
  auto logger = format == LogFormat::kJson ? spdlog::stderr_logger_mt("gopmill")
                                           : spdlog::stderr_color_mt("gopmill");
  if (format == LogFormat::kJson) {
    logger->set_formatter(MakeJsonLogFormatter());
  } else {
    logger->set_pattern("%H:%M:%S.%e %^%l%$ %v");
  }
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
