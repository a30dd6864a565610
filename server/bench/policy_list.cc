// SPDX-License-Identifier: Apache-2.0
#include "server/bench/policy_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/policy_options_text.h"
#include "scheduler/policy_registry.h"
#include "server/bench/workload.h"

namespace gopmill::bench {
namespace {

Error Wrong(std::string message) {
  return InvalidArgument("scheduler", std::move(message),
                         "all, or with commas between: " + PolicyNames());
}

}  // namespace

Result<std::vector<std::string>> ParsePolicyList(std::string_view text) {
  std::vector<std::string> names;
  if (text == "all") {
    for (const PolicyEntry& policy : Policies()) names.emplace_back(policy.name);
    return names;
  }
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string name(text.substr(0, comma));
    const auto policies = Policies();
    if (std::ranges::find(policies, name, &PolicyEntry::name) == policies.end()) {
      return Wrong("There is no scheduler \"" + name.substr(0, 64) + "\".");
    }
    if (std::ranges::find(names, name) != names.end()) return Wrong(name + " is there twice.");
    names.push_back(name);
    if (comma == std::string_view::npos) return names;
    text.remove_prefix(comma + 1);
  }
}

std::string ListText() {
  std::string text = "policies:\n";
  for (const PolicyEntry& policy : Policies()) {
    text += fmt::format("  {:<14} {}\n", policy.name, policy.description);
  }
  text += "options of the rules (--scheduler-options NAME=VALUE,..., the default first):\n";
  for (const PolicyOptionName& option : PolicyOptionNames()) {
    text += fmt::format("  {:<14} {}: {}\n", option.name, option.meaning, option.accepted);
  }
  text += "mixes:\n";
  for (const Mix& mix : Mixes()) text += fmt::format("  {:<14} {}\n", mix.name, mix.description);
  return text;
}

}  // namespace gopmill::bench
