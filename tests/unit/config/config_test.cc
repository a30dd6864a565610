// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "config/config_file.h"
#include "config/config_loader.h"
#include "config/reload.h"
#include "config/settings.h"

namespace gopmill {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A config file that is removed at the end of the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_(::testing::TempDir() + "gopmill_config_" + std::to_string(::getpid()) + ".json") {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

using Environment = std::map<std::string, std::string>;

ConfigSources Sources(const std::string& file, Environment environment = {},
                      std::vector<std::pair<std::string, std::string>> flags = {}) {
  ConfigSources sources;
  sources.file = file;
  sources.flags = std::move(flags);
  sources.environment = [environment = std::move(environment)](
                            const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional(found->second);
  };
  return sources;
}

std::vector<std::string> Problems(std::string_view text) {
  ServerConfig config;
  ConfigOrigins origins;
  std::vector<std::string> lines;
  for (const ConfigProblem& each : ApplyConfigFile(text, "c.json", config, origins)) {
    lines.push_back(each.place + ": " + each.message);
  }
  return lines;
}

TEST(ConfigLoader, NothingGivenIsTheDefaults) {
  const auto loaded = LoadConfig(Sources(""));
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->config, ServerConfig{});
  EXPECT_THAT(loaded->origins, IsEmpty());
}

TEST(ConfigLoader, DefaultsOfTheListAreAcceptedByTheList) {
  for (const Setting& setting : Settings()) {
    ServerConfig config;
    const std::string value = GetText(setting, config);
    if (value.empty()) continue;
    EXPECT_TRUE(SetText(setting, value, config)) << setting.pointer;
  }
}

TEST(ConfigLoader, NumbersUpToTheirLimitsCanBeWrittenAsText) {
  for (const Setting& setting : Settings()) {
    if (setting.number == nullptr) continue;
    for (const std::int64_t limit : {setting.low, setting.high}) {
      ServerConfig config, again;
      ASSERT_TRUE(SetNumber(setting, limit, config)) << setting.pointer;
      EXPECT_TRUE(SetText(setting, GetText(setting, config), again)) << setting.pointer;
      EXPECT_EQ(setting.number(again), limit) << setting.pointer;
    }
  }
}

TEST(ConfigLoader, FlagsWinOverEnvironmentOverFileOverDefaults) {
  const TemporaryFile file(R"({"http": {"port": 1, "address": "::1"},
                               "scheduler": {"workers": 3}, "log": {"level": "debug"}})");
  const auto loaded =
      LoadConfig(Sources(file.path(), {{"GOPMILL_HTTP_PORT", "2"}, {"GOPMILL_LOG_LEVEL", "trace"}},
                         {{"--http-port", "3"}, {"--library", "/movies"}}));
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->config.http.port, 3);
  EXPECT_EQ(loaded->config.log.level, "trace");
  EXPECT_EQ(loaded->config.http.address, "::1");
  EXPECT_EQ(loaded->config.scheduler.workers, 3);
  EXPECT_EQ(loaded->config.library, "/movies");
  EXPECT_EQ(loaded->origins.at("/http/port"), "flag --http-port");
  EXPECT_EQ(loaded->origins.at("/log/level"), "environment GOPMILL_LOG_LEVEL");
  EXPECT_EQ(loaded->origins.at("/scheduler/workers"), "file " + file.path() + ":2");
}

TEST(ConfigLoader, ServicesOfKubernetesAreNoSettings) {
  const auto loaded = LoadConfig(Sources("", {{"GOPMILL_HTTP_PORT", "tcp://10.0.0.7:8080"},
                                              {"GOPMILL_SRT_PORT", "udp://10.0.0.8:9000"}}));
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->config.http.port, 8080);
  EXPECT_EQ(loaded->config.srt.port, 0);
  EXPECT_FALSE(LoadConfig(Sources("", {{"GOPMILL_HTTP_PORT", "10.0.0.7:8080"}})).ok());
  EXPECT_FALSE(
      LoadConfig(Sources("", {{"GOPMILL_HTTP_ADDRESS", ""}, {"GOPMILL_LOG_LEVEL", "tcp://x"}}))
          .ok());
}

TEST(ConfigLoader, TheEnvironmentMayNameTheFile) {
  const TemporaryFile file(R"({"streams": {"max": 7}})");
  const auto loaded = LoadConfig(Sources("", {{"GOPMILL_CONFIG", file.path()}}));
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->config.streams.max, 7);
}

TEST(ConfigLoader, ProblemsOfAllSourcesComeAtOnce) {
  const TemporaryFile file("{\n  \"http\": {\"prt\": 1, \"port\": \"many\"},\n  \"logs\": {}\n}");
  const auto loaded = LoadConfig(Sources(file.path(), {{"GOPMILL_SCHEDULER_WORKERS", "-1"}},
                                         {{"--http-port", "65536"}, {"--nonsense", "1"}}));
  ASSERT_FALSE(loaded.ok());
  const Error error = loaded.error();
  EXPECT_EQ(error.code, Code::kInvalidArgument);
  const std::string& message = error.message;
  EXPECT_THAT(message, HasSubstr(file.path() + ":2:12: /http/prt is not a setting."));
  EXPECT_THAT(message, HasSubstr(":2:22: /http/port must be 0 to 65535, not the text \"many\"."));
  EXPECT_THAT(message, HasSubstr(":3:3: /logs is not a setting."));
  EXPECT_THAT(message, HasSubstr("environment GOPMILL_SCHEDULER_WORKERS: The value must be"));
  EXPECT_THAT(message, HasSubstr("flag --http-port: The value must be 0 to 65535, not '65536'."));
  EXPECT_THAT(message, HasSubstr("flag --nonsense: There is no such setting."));
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 5);
}

TEST(ConfigLoader, MissingFileIsAProblem) {
  const auto loaded = LoadConfig(Sources("/nonexistent/gopmill.json"));
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(loaded.error().message, HasSubstr("cannot be opened"));
  EXPECT_FALSE(LoadConfig(Sources("/")).ok());  // a folder
}

TEST(ConfigFile, WrongTypesNameKeyPlaceAndWhatIsRight) {
  EXPECT_THAT(Problems(R"({"http": {"port": 80.5}})"),
              ElementsAre("c.json:1:11: /http/port must be 0 to 65535, not the number 80.5."));
  EXPECT_THAT(Problems(R"({"http": {"port": true}})"),
              ElementsAre(HasSubstr("not true or false.")));
  EXPECT_THAT(Problems(R"({"http": {"port": null}})"), ElementsAre(HasSubstr("not null.")));
  EXPECT_THAT(Problems(R"({"http": {"port": [1, {"port": 2}]}})"),
              ElementsAre(HasSubstr("not a list.")));
  EXPECT_THAT(Problems(R"({"http": {"port": {"a": {"b": 1}}}})"),
              ElementsAre(HasSubstr("not an object.")));
  EXPECT_THAT(Problems(R"({"library": 5})"), ElementsAre(HasSubstr("must be a folder, not 5.")));
  EXPECT_THAT(Problems(R"({"http": 5})"), ElementsAre(HasSubstr("/http must be an object")));
  EXPECT_THAT(Problems(R"({"http": []})"), ElementsAre(HasSubstr("/http must be an object")));
  EXPECT_THAT(Problems(R"({"http": {"port": 99999999999999999999}})"), SizeIs(1));
  EXPECT_THAT(Problems(R"({"http": {"port": 18446744073709551615}})"), SizeIs(1));
  EXPECT_THAT(Problems(R"({"log": {"level": "loud"}})"), ElementsAre(HasSubstr("warning")));
}

TEST(ConfigFile, SecretsAreNotShownWhateverTheirType) {
  EXPECT_THAT(Problems("{\"srt\": {\"passphrase\": 12345678901}, \"auth\": {\"users\": true},\n"
                       "\"sources\": 17.5}"),
              ElementsAre(AllOf(HasSubstr("/srt/passphrase must be 10 to 79 bytes, or nothing."),
                                Not(HasSubstr("12345"))),
                          AllOf(HasSubstr("/auth/users must be"), Not(HasSubstr("true"))),
                          AllOf(HasSubstr("/sources must be"), Not(HasSubstr("17.5")))));
}

TEST(ConfigFile, UnknownAndDoubledKeysAreProblems) {
  EXPECT_THAT(Problems(R"({"http": {"port": 1, "port": 2}})"),
              ElementsAre("c.json:1:22: /http/port is given twice."));
  EXPECT_THAT(Problems(R"({"x": {"y": [1, 2, {"z": 3}]}, "log": {"level": "info"}, "w": 1})"),
              ElementsAre(HasSubstr("/x is not"), HasSubstr("/w is not")));
  EXPECT_THAT(Problems("{\"\\u0000\\n\": 1}"), ElementsAre(HasSubstr("/?? is not a setting")));
  EXPECT_THAT(Problems("{\"http/port\": 1}"),
              ElementsAre(HasSubstr("/http~1port is not a setting")));
}

TEST(ConfigFile, BrokenJsonIsOneProblemWithItsPlace) {
  EXPECT_THAT(Problems("{\n  \"http\": {\n    \"port\" 80\n"),
              ElementsAre(AllOf(HasSubstr("c.json:3:"), HasSubstr("not valid JSON"))));
  EXPECT_THAT(Problems(""), ElementsAre(HasSubstr("not valid JSON")));
  for (const char* password :
       {R"({"auth": {"users": "a:sec\eret:read"}})", R"({"srt": {"passphrase" "topsecret"}})"}) {
    EXPECT_THAT(Problems(password),
                ElementsAre(AllOf(HasSubstr("not valid JSON"), Not(HasSubstr("sec")),
                                  Not(HasSubstr("top")))));
  }
  EXPECT_THAT(Problems("{} {}"), SizeIs(1));
  EXPECT_THAT(Problems("[]"), ElementsAre(HasSubstr("one object")));
  EXPECT_THAT(Problems("5"), ElementsAre(HasSubstr("one object")));
  EXPECT_THAT(Problems(std::string(100'000, '[')), SizeIs(2));
  EXPECT_THAT(Problems(std::string("{\"a\": \"\xff\"}")), SizeIs(1));
}

TEST(ConfigFile, CommentsAndSizesAreAllowed) {
  ServerConfig config;
  ConfigOrigins origins;
  EXPECT_THAT(ApplyConfigFile("// mine\n{\"streams\": {\"window_bytes\": \"64MiB\"}, /* x */\n"
                              "\"context_cache_bytes\": 1024}",
                              "c", config, origins),
              IsEmpty());
  EXPECT_EQ(config.streams.window_bytes, 64 << 20);
  EXPECT_EQ(config.context_cache_bytes, 1024);
}

TEST(ConfigPrint, SaysWhereEachValueCameFromAndCanBeLoadedAgain) {
  auto loaded = LoadConfig(Sources("", {{"GOPMILL_STREAMS_MAX", "9"}}, {{"--library", "a\"b"}}));
  ASSERT_TRUE(loaded.ok());
  const std::string printed = PrintConfig(*loaded);
  EXPECT_THAT(printed, ::testing::ContainsRegex("\"max\": 9, +// environment GOPMILL_STREAMS_MAX"));
  EXPECT_THAT(printed, ::testing::ContainsRegex("\"library\": .* // flag --library"));
  EXPECT_THAT(printed, ::testing::ContainsRegex("\"port\": 8080, +// default"));
  const TemporaryFile file(printed);
  const auto again = LoadConfig(Sources(file.path()));
  ASSERT_TRUE(again.ok()) << again.error().message << printed;
  EXPECT_EQ(again->config, loaded->config);
  EXPECT_THAT(again->origins, SizeIs(Settings().size()));
}

TEST(ConfigPrint, WhatCannotBeLoadedStandsInComments) {
  auto loaded = LoadConfig(Sources("", {{"GOPMILL_SRT_PASSPHRASE", "open sesame"},
                                        {"GOPMILL_AUTH_USERS", "a:word:read"},
                                        {"GOPMILL_SOURCES", "gate=rtsp://u:w@h/p"}}));
  ASSERT_TRUE(loaded.ok());
  const std::string printed = PrintConfig(*loaded);
  EXPECT_THAT(printed, ::testing::ContainsRegex("// \"library\": \"\" +// default"));
  EXPECT_THAT(printed, ::testing::ContainsRegex(
                           "// \"passphrase\": \"\\(not shown\\)\" +// environment GOPMILL_SRT"));
  EXPECT_THAT(printed, Not(HasSubstr("sesame")));
  const TemporaryFile file(printed);
  const auto again = LoadConfig(Sources(file.path()));
  ASSERT_TRUE(again.ok()) << again.error().message << printed;
  loaded->config.srt.passphrase = loaded->config.auth.users = loaded->config.sources = "";
  EXPECT_EQ(again->config, loaded->config) << printed;
}

TEST(ConfigReload, AppliesWhatCanChangeAndNamesTheRest) {
  ServerConfig running, wanted;
  wanted.log.level = "debug";
  wanted.http.port = 9;
  const Reloaded reloaded = Reload(running, wanted);
  EXPECT_EQ(reloaded.config.log.level, "debug");
  EXPECT_EQ(reloaded.config.http.port, 8080);
  ASSERT_THAT(reloaded.changes, SizeIs(2));
  EXPECT_EQ(reloaded.changes[0].ToString(),
            "/http/port stays 8080: changing it to 9 needs a restart.");
  EXPECT_EQ(reloaded.changes[1].ToString(), "/log/level changed from info to debug.");
  EXPECT_THAT(Reload(running, running).changes, IsEmpty());
}

TEST(ConfigReload, UsersMayChangeButNotVanish) {
  ServerConfig running, wanted;
  running.auth.users = "ann:old:read";
  wanted.auth.users = "ann:new:read";
  const Reloaded changed = Reload(running, wanted);
  EXPECT_EQ(changed.config.auth.users, "ann:new:read");
  ASSERT_THAT(changed.changes, SizeIs(1));
  EXPECT_EQ(changed.changes[0].ToString(), "/auth/users changed from (not shown) to (not shown).");
  const Reloaded emptied = Reload(running, ServerConfig());
  EXPECT_EQ(emptied.config.auth.users, "ann:old:read") << "it would open what was closed";
  ASSERT_THAT(emptied.changes, SizeIs(1));
  EXPECT_EQ(emptied.changes[0].ToString(),
            "/auth/users stays (not shown): changing it to nothing needs a restart.");
  // Two variables that are empty; a file with nothing but an end of line.
  for (const char* blanks : {"  ", "\n", "\t", " \r\n"}) {
    ServerConfig blank;
    blank.auth.users = blanks;
    EXPECT_EQ(Reload(running, blank).config.auth.users, "ann:old:read") << "nor do blanks";
  }
  const Reloaded closed = Reload(ServerConfig(), wanted);
  EXPECT_EQ(closed.config.auth.users, "ann:new:read");
}

TEST(ConfigSettings, EnvironmentNamesFollowThePointers) {
  EXPECT_EQ(EnvironmentName(*FindSettingByPointer("/http/port")), "GOPMILL_HTTP_PORT");
  EXPECT_EQ(FindSettingByFlag("--workers")->pointer, "/scheduler/workers");
  EXPECT_EQ(FindSettingByFlag(""), nullptr);
}

}  // namespace
}  // namespace gopmill
