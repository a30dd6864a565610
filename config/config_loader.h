// SPDX-License-Identifier: Apache-2.0
//
// Puts the server's configuration together: built-in defaults < config file < environment < flags.
//
// Guarantees: every problem of every source is reported at once, one line each, with its place; a
// configuration is returned only when there is none. Each value remembers where it came from.
//
// Thread-safety: safe as long as nobody changes the environment meanwhile.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "config/config_file.h"
#include "config/server_config.h"

namespace gopmill {

struct ConfigSources {
  std::string file;  // path of the config file; empty = the one named by GOPMILL_CONFIG, if any
  // Looks up an environment variable; replaced in tests.
  std::function<std::optional<std::string>(const std::string& name)> environment;
  // Flags in the order given: {"--http-port", "8081"}.
  std::vector<std::pair<std::string, std::string>> flags;
};

struct LoadedConfig {
  ServerConfig config;
  ConfigOrigins origins;  // of the values that are not the default
};

// On failure the error's message has one line per problem: "place: what is wrong".
Result<LoadedConfig> LoadConfig(const ConfigSources& sources);

// The whole configuration as a config file, with a comment behind each value that says where it
// came from. Loading it again gives the same configuration, but for what stands in a comment:
// secrets, whose words are not shown, and a library that is not given.
std::string PrintConfig(const LoadedConfig& loaded);

// Reads the process's own environment.
std::optional<std::string> ProcessEnvironment(const std::string& name);

}  // namespace gopmill
