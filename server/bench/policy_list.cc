// SPDX-License-Identifier: Apache-2.0
#include "server/bench/policy_list.h"

#include <fmt/format.h>

#include "scheduler/policy_options_text.h"
#include "scheduler/policy_registry.h"
#include "server/bench/workload.h"

namespace gopmill::bench {

std::string PolicyListText() {
  std::string text = "policies:\n";
  for (const PolicyEntry& policy : Policies()) {
    text += fmt::format("  {:<14} {}\n", policy.name, policy.description);
  }
  text += "options of the rules (--scheduler-options NAME=VALUE,..., the default first):\n";
  for (const PolicyOptionName& option : PolicyOptionNames()) {
    text += fmt::format("  {:<14} {}: {}\n", option.name, option.meaning, option.accepted);
  }
  return text;
}

std::string ListText() {
  std::string text = PolicyListText() + "mixes:\n";
  for (const Mix& mix : Mixes()) text += fmt::format("  {:<14} {}\n", mix.name, mix.description);
  return text;
}

}  // namespace gopmill::bench
