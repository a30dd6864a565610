// SPDX-License-Identifier: Apache-2.0
//
// Reads a config file: JSON, in which // and /* */ comments are allowed. Finds every problem in one
// go: unknown keys, keys given twice, wrong types and values out of range, each with its place.
//
// Thread-safety: safe (pure function).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/server_config.h"

namespace gopmill {

struct ConfigProblem {
  std::string place;    // "server.json:4:5" or "environment GOPMILL_HTTP_PORT" or "flag --workers"
  std::string message;  // a full sentence
};

// Where a value came from, by the pointer of its setting.
using ConfigOrigins = std::map<std::string, std::string, std::less<>>;

// Applies the JSON in `text` to `config`; `name` is the file's name for messages and origins.
// Returns the problems; settings without one are applied.
std::vector<ConfigProblem> ApplyConfigFile(std::string_view text, const std::string& name,
                                           ServerConfig& config, ConfigOrigins& origins);

}  // namespace gopmill
