// SPDX-License-Identifier: Apache-2.0
#include "server/api/live_name.h"

#include <algorithm>
#include <cctype>

namespace gopmill {

Status CheckLiveName(std::string_view name) {
  const bool good = !name.empty() && name.size() <= kMaxLiveNameBytes && name.front() != '.' &&
                    std::ranges::all_of(name, [](unsigned char c) {
                      return (c < 0x80 && std::isalnum(c) != 0) || c == '.' || c == '_' || c == '-';
                    });
  if (good) return OkStatus();
  return InvalidArgument("name", "This cannot be the name of a live source.",
                         "1 to 64 letters, digits, '.', '_' and '-', not beginning with '.'");
}

Status CheckNameSetting(const std::string& setting, const std::string& name) {
  const Status status = CheckLiveName(name);
  if (status.ok()) return status;
  return InvalidArgument(setting, "'" + name + "' cannot be the name of a live source.",
                         status.error().accepted);
}

}  // namespace gopmill
