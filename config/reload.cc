// SPDX-License-Identifier: Apache-2.0
#include "config/reload.h"

#include "base/words.h"
#include "config/settings.h"

namespace gopmill {

std::string ConfigChange::ToString() const {
  const std::string before = from.empty() ? "nothing" : from;
  const std::string after = to.empty() ? "nothing" : to;
  if (applied) return setting + " changed from " + before + " to " + after + ".";
  return setting + " stays " + before + ": changing it to " + after + " needs a restart.";
}

Reloaded Reload(const ServerConfig& running, const ServerConfig& wanted) {
  Reloaded reloaded{running, {}};
  for (const Setting& setting : Settings()) {
    const std::string from = GetText(setting, running);
    const std::string to = GetText(setting, wanted);
    if (from == to) continue;
    const bool opens = setting.guards && Words(to).empty();
    const bool applied = setting.reloadable && !opens;
    if (applied) CopySetting(setting, wanted, reloaded.config);
    reloaded.changes.push_back({std::string(setting.pointer), ShownText(setting, running),
                                ShownText(setting, wanted), applied});
  }
  return reloaded;
}

}  // namespace gopmill
