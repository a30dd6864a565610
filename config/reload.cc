// SPDX-License-Identifier: Apache-2.0
#include "config/reload.h"

#include "config/settings.h"

namespace gopmill {

std::string ConfigChange::ToString() const {
  if (applied) return setting + " changed from " + from + " to " + to + ".";
  return setting + " stays " + from + ": changing it to " + to + " needs a restart.";
}

Reloaded Reload(const ServerConfig& running, const ServerConfig& wanted) {
  Reloaded reloaded{running, {}};
  for (const Setting& setting : Settings()) {
    const std::string from = GetText(setting, running);
    const std::string to = GetText(setting, wanted);
    if (from == to) continue;
    if (setting.reloadable) CopySetting(setting, wanted, reloaded.config);
    reloaded.changes.push_back({std::string(setting.pointer), ShownText(setting, running),
                                ShownText(setting, wanted), setting.reloadable});
  }
  return reloaded;
}

}  // namespace gopmill
