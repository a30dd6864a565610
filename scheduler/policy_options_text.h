// SPDX-License-Identifier: Apache-2.0
//
// The forms of the rules (policy_options.h) as text, for config files and command lines:
//
//     minimum=non-zero,running=not-counted,ratios=e5335,beta=0.2
//
// Thread-safety: safe (pure functions).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "scheduler/policy_options.h"

namespace gopmill {

struct PolicyOptionName {
  std::string_view name;
  std::string_view accepted;  // the default first
  std::string_view meaning;
};

// All of them, for listings.
std::span<const PolicyOptionName> PolicyOptionNames();

// Sets the options that `text` names, each at most once; the others keep their values. The error
// names the option and the accepted values. An empty text changes nothing. `workers` is what
// ratios=mesh needs to know (a square number of at most kMaxMatrixWorkers).
Status ParsePolicyOptions(const std::string& text, int workers, PolicyOptions& options);

}  // namespace gopmill
