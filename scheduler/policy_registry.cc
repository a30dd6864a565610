// SPDX-License-Identifier: Apache-2.0
#include "scheduler/policy_registry.h"

#include <algorithm>
#include <array>

namespace gopmill {

// Each in its own file, policy_<name>.cc.
Result<std::unique_ptr<Policy>> MakeHCahrw(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeCaAhrw(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeHrw(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeRr(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeSm(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeFifo(const PolicyOptions& options, const PoolState& pool);

namespace {

constexpr std::array kPolicies = {
    PolicyEntry{"h-cahrw", "cache-aware adaptive hashing down the topology tree", &MakeHCahrw},
    PolicyEntry{"ca-ahrw", "cache-aware adaptive hashing over all workers", &MakeCaAhrw},
    PolicyEntry{"hrw", "every stream to the worker its hash picks", &MakeHrw},
    PolicyEntry{"rr", "units to the workers in turn", &MakeRr},
    PolicyEntry{"sm", "stream number modulo workers, fixed at arrival", &MakeSm},
    PolicyEntry{"fifo", "one shared queue, any idle worker takes its head", &MakeFifo},
};

}  // namespace

std::span<const PolicyEntry> Policies() { return kPolicies; }

std::string PolicyNames() {
  std::string names;
  for (const PolicyEntry& entry : kPolicies) {
    if (!names.empty()) names += ", ";
    names += entry.name;
  }
  return names;
}

Result<std::unique_ptr<Policy>> MakePolicy(std::string_view name, const PolicyOptions& options,
                                           const PoolState& pool) {
  const auto* const entry = std::ranges::find(kPolicies, name, &PolicyEntry::name);
  if (entry == kPolicies.end()) {
    return InvalidArgument("policy", "There is no policy of that name.", PolicyNames());
  }
  GOPMILL_RETURN_IF_ERROR(ValidateRatios(options.ratios, pool.worker_count()));
  return entry->make(options, pool);
}

}  // namespace gopmill
