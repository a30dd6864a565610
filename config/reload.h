// SPDX-License-Identifier: Apache-2.0
//
// What a reload (SIGHUP) changes. Settings that can change while the server runs take effect; the
// others keep their value and are named, so that nobody believes they did.
//
// Thread-safety: safe (pure function).
#pragma once

#include <string>
#include <vector>

#include "config/server_config.h"

namespace gopmill {

struct ConfigChange {
  std::string setting;  // "/log/level"
  std::string from, to;
  bool applied = false;  // false: it needs a restart

  // One sentence for the log.
  [[nodiscard]] std::string ToString() const;
};

struct Reloaded {
  ServerConfig config;  // `running` with the settings that may change taken from `wanted`
  std::vector<ConfigChange> changes;
};

Reloaded Reload(const ServerConfig& running, const ServerConfig& wanted);

}  // namespace gopmill
