// SPDX-License-Identifier: Apache-2.0
//
// The policies by name. To add one: write scheduler/policy_<name>.cc with a factory and give it a
// line in the table of policy_registry.cc. Server, bench, simulator and the property tests of
// tests/unit/scheduler pick it up from there.
//
// Thread-safety: safe (immutable).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "scheduler/policy.h"

namespace gopmill {

// Makes a policy for the workers of `pool`, which outlives it, or says why it cannot serve them.
using PolicyFactory = Result<std::unique_ptr<Policy>> (*)(const PolicyOptions& options,
                                                          const PoolState& pool);

// What waits for no worker that is idle and may run it. Tested, and held against runs of the bench.
enum class WorkConserving {
  kNo,     // nothing is promised
  kHeads,  // heads of lines; units in run queues wait for theirs
  kAll,    // all that could be first in its line: nothing is queued behind a running unit
};

struct PolicyEntry {
  std::string_view name;
  std::string_view description;  // one line, for listings
  PolicyFactory make = nullptr;
  std::string_view options;  // that the rule reads (policy_options_text.h), a blank between
  WorkConserving work_conserving = WorkConserving::kNo;  // of the rules' default forms
  bool by_class = false;  // divides the workers among service classes; the others ignore weights
};

// In the order in which they are listed: the default first.
std::span<const PolicyEntry> Policies();

// Whether the policy promises never to let a unit wait while a worker it may run on is idle. The
// printed form of the proportional-share layer binds units to the workers of their stream.
bool NothingWaitsBesideAnIdleWorker(std::string_view policy, const PolicyOptions& options);

// "h-cahrw, ca-ahrw, ..."
std::string PolicyNames();
// kInvalidArgument naming `parameter`, with the accepted names, when there is no such policy.
Status CheckPolicyName(std::string_view parameter, std::string_view name);
// "fifo,h-cahrw" or "all", which is all of them in their order. kInvalidArgument naming "scheduler"
// for names that are unknown, empty or there twice.
Result<std::vector<std::string>> ParsePolicyNames(std::string_view text);
// Empty if the policy holds the weights of service classes, else the names of those that do.
std::string ThoseByClassBut(std::string_view policy);

// kInvalidArgument when `rules`, as ParsePolicyOptions takes them, name an option that none of the
// policies reads: it would be ignored without a word. With the names of those that do.
Status CheckOptionsAreRead(std::string_view rules, std::span<const std::string> policies);

// kInvalidArgument with the accepted names when there is no such policy.
Result<std::unique_ptr<Policy>> MakePolicy(std::string_view name, const PolicyOptions& options,
                                           const PoolState& pool);

}  // namespace gopmill
