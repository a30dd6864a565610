// SPDX-License-Identifier: Apache-2.0
#include "config/config_loader.h"

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>

#include "base/dump_json.h"
#include "config/settings.h"
#include "config/small_file.h"

namespace gopmill {
namespace {

constexpr std::size_t kMaxFileBytes = 1 << 20;
constexpr const char* kFileVariable = "GOPMILL_CONFIG";

// The file's text; nullopt with a problem when it cannot be had.
std::optional<std::string> ReadFile(const std::string& path, std::vector<ConfigProblem>& problems) {
  auto text = ReadSmallFile(path, kMaxFileBytes);
  if (text.ok()) return *std::move(text);
  const bool opened = text.error().code != Code::kNotFound;
  problems.push_back({path, opened ? "The config file cannot be read or is larger than 1 MiB."
                                   : "The config file cannot be opened."});
  return std::nullopt;
}

void ApplyText(const Setting& setting, const std::string& value, const std::string& place,
               LoadedConfig& loaded, std::vector<ConfigProblem>& problems) {
  if (SetText(setting, value, loaded.config)) {
    loaded.origins.insert_or_assign(std::string(setting.pointer), place);
    return;
  }
  std::string shown;
  for (const char c : setting.secret ? "..." : value.substr(0, 60))
    shown += (c >= ' ' && c <= '~') ? c : '?';
  problems.push_back(
      {place, "The value must be " + std::string(setting.accepted) + ", not '" + shown + "'."});
}

void ApplyFile(const ConfigSources& sources, LoadedConfig& loaded,
               std::vector<ConfigProblem>& problems) {
  std::string path = sources.file;
  if (path.empty() && sources.environment) path = sources.environment(kFileVariable).value_or("");
  if (path.empty()) return;
  const auto text = ReadFile(path, problems);
  if (!text) return;
  auto found = ApplyConfigFile(*text, path, loaded.config, loaded.origins);
  problems.insert(problems.end(), std::make_move_iterator(found.begin()),
                  std::make_move_iterator(found.end()));
}

// Kubernetes tells containers where each of its Services is, by names like GOPMILL_HTTP_PORT for
// one called gopmill-http; no setting has such a value.
bool IsServiceLink(std::string_view name, std::string_view value) {
  return name.ends_with("_PORT") && (value.starts_with("tcp://") || value.starts_with("udp://") ||
                                     value.starts_with("sctp://"));
}

void ApplyEnvironment(const ConfigSources& sources, LoadedConfig& loaded,
                      std::vector<ConfigProblem>& problems) {
  if (!sources.environment) return;
  for (const Setting& setting : Settings()) {
    const std::string name = EnvironmentName(setting);
    const auto value = sources.environment(name);
    if (value && !IsServiceLink(name, *value))
      ApplyText(setting, *value, "environment " + name, loaded, problems);
  }
}

void ApplyFlags(const ConfigSources& sources, LoadedConfig& loaded,
                std::vector<ConfigProblem>& problems) {
  for (const auto& [flag, value] : sources.flags) {
    const Setting* setting = FindSettingByFlag(flag);
    if (setting == nullptr) {
      problems.push_back({"flag " + flag, "There is no such setting."});
    } else {
      ApplyText(*setting, value, "flag " + flag, loaded, problems);
    }
  }
}

// The value as it stands in a config file.
std::string JsonText(const Setting& setting, const ServerConfig& config) {
  std::string text = ShownText(setting, config);
  if (setting.text == nullptr) return text;
  return DumpJson(nlohmann::json(text));
}

// Whether it can stand in a file as it is shown: no secret, and nothing that has no default.
bool CanBeLoaded(const Setting& setting, const ServerConfig& config) {
  ServerConfig copy = config;
  const std::string text = GetText(setting, config);
  return ShownText(setting, config) == text && SetText(setting, text, copy);
}

struct PrintedLine {
  std::string text, comment;
};

std::string WithComments(std::span<const PrintedLine> lines) {
  std::size_t widest = 0;
  for (const PrintedLine& line : lines) {
    if (!line.comment.empty()) widest = std::max(widest, line.text.size());
  }
  std::string printed;
  for (const PrintedLine& line : lines) {
    printed += line.text;
    if (!line.comment.empty()) {
      printed += std::string(widest - line.text.size() + 2, ' ') + "// " + line.comment;
    }
    printed += "\n";
  }
  return printed;
}

}  // namespace

Result<LoadedConfig> LoadConfig(const ConfigSources& sources) {
  LoadedConfig loaded;
  std::vector<ConfigProblem> problems;
  ApplyFile(sources, loaded, problems);
  ApplyEnvironment(sources, loaded, problems);
  ApplyFlags(sources, loaded, problems);
  if (problems.empty()) return loaded;
  std::string message;
  for (const ConfigProblem& problem : problems) {
    if (!message.empty()) message += "\n";
    message += problem.place + ": " + problem.message;
  }
  return Error{.code = Code::kInvalidArgument, .message = std::move(message)};
}

std::string PrintConfig(const LoadedConfig& loaded) {
  std::vector<PrintedLine> lines = {{"{", ""}};
  std::size_t last = 0;  // the line that needs a comma if another value follows; 0 = none
  const auto add = [&](std::string text, std::string comment) {
    if (last != 0) lines[last].text += ",";
    last = lines.size();
    lines.push_back({std::move(text), std::move(comment)});
  };
  std::string section;
  const auto close = [&] {
    if (!section.empty()) lines.push_back({"  }", ""});
    if (!section.empty()) last = lines.size() - 1;
  };
  for (const Setting& setting : Settings()) {
    const std::size_t slash = setting.pointer.rfind('/');
    const std::string_view in = setting.pointer.substr(0, slash);
    if (in != section) {
      close();
      section = in;
      if (!in.empty()) {
        add("  \"" + std::string(in.substr(1)) + "\": {", "");
        last = 0;
      }
    }
    const auto origin = loaded.origins.find(setting.pointer);
    const std::string comment = origin == loaded.origins.end() ? "default" : origin->second;
    const std::string indent = section.empty() ? "  " : "    ";
    const std::string value = "\"" + std::string(setting.pointer.substr(slash + 1)) +
                              "\": " + JsonText(setting, loaded.config);
    if (CanBeLoaded(setting, loaded.config)) {
      add(indent + value, comment);
    } else {
      lines.push_back({indent + "// " + value, comment});
    }
  }
  close();
  lines.push_back({"}", ""});
  return WithComments(lines);
}

std::optional<std::string> ProcessEnvironment(const std::string& name) {
  const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): see the header
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

}  // namespace gopmill
