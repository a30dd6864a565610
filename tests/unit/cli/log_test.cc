// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace gopmill {
namespace {

std::string Written(spdlog::formatter& formatter, std::string_view message,
                    spdlog::level::level_enum level) {
  spdlog::memory_buf_t buffer;
  const spdlog::details::log_msg record(spdlog::log_clock::time_point(std::chrono::seconds(86399)),
                                        {}, "gopmill", level,
                                        spdlog::string_view_t(message.data(), message.size()));
  formatter.format(record, buffer);
  return {buffer.data(), buffer.size()};
}

std::string Formatted(std::string_view message, spdlog::level::level_enum level) {
  return Written(*MakeJsonLogFormatter(), message, level);
}

// Without its time, which is local.
std::string TextOf(std::string_view message) {
  const std::string line = Written(*MakeTextLogFormatter(), message, spdlog::level::info);
  return line.substr(line.find(' ') + 1);
}

TEST(JsonLog, IsOneObjectOnOneLine) {
  EXPECT_EQ(Formatted("ready", spdlog::level::info),
            "{\"time\":\"1970-01-01T23:59:59.000Z\",\"level\":\"info\",\"message\":\"ready\"}\n");
}

TEST(JsonLog, EveryByteSequenceGivesValidJson) {
  const std::string hostile[] = {
      R"(name "with" quotes and \ backslash)",
      std::string("line\nbreak\ttab\0nul\x7f", 20),
      "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x8e\xac",
      "\xff\xfe \xc3 \xe2\x82 \xf0\x9f\x8e",
      "\xc0\x80 \xed\xa0\x80 \xf4\x90\x80\x80 \xe0\x80\x80 \xf0\x80\x80\x80",
      "",
  };
  for (const std::string& message : hostile) {
    const std::string line = Formatted(message, spdlog::level::warn);
    const auto parsed = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(parsed.is_object()) << line;
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    EXPECT_EQ(parsed.at("level"), "warning");
  }
  const auto text = nlohmann::json::parse(Formatted(hostile[0], spdlog::level::err));
  EXPECT_EQ(text.at("message"), hostile[0]);
  EXPECT_EQ(nlohmann::json::parse(Formatted(hostile[1], spdlog::level::err)).at("message"),
            hostile[1]);
  EXPECT_EQ(nlohmann::json::parse(Formatted(hostile[2], spdlog::level::err)).at("message"),
            hostile[2]);
}

TEST(TextLog, AMessageIsOneLineThatTellsATerminalNothing) {
  EXPECT_EQ(TextOf("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x8e\xac, 100 % \\ \""),
            "info gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x8e\xac, 100 % \\ \"\n");
  EXPECT_EQ(TextOf("a\n12:00:00.000 info b\r\t"), "info a\\x0a12:00:00.000 info b\\x0d\\x09\n");
  EXPECT_EQ(TextOf(std::string_view("\x1b[2J\0\x7f", 6)), "info \\x1b[2J\\x00\\x7f\n");
  EXPECT_EQ(TextOf("\xc2\x9b"
                   "31m"),
            "info \\xc2\\x9b31m\n");  // a terminal's CSI in one character
  EXPECT_EQ(TextOf("\xff \xc3"), "info \\xff \\xc3\n");
}

TEST(Log, UnknownLevelsAreRefused) {
  for (const char* level : {"", "loud", "INFO", "warn", "err"}) {
    EXPECT_FALSE(SetLogLevel(level).ok()) << level;
  }
  EXPECT_TRUE(SetLogLevel("warning").ok());
}

}  // namespace
}  // namespace gopmill
