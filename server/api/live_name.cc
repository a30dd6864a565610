// SPDX-License-Identifier: Apache-2.0
#include "server/api/live_name.h"

#include "base/words.h"

namespace gopmill {

Status CheckLiveName(std::string_view name) {
  if (IsPlainName(name) && name.size() <= kMaxLiveNameBytes && name.front() != '.') {
    return OkStatus();
  }
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
