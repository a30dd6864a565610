// SPDX-License-Identifier: Apache-2.0
#include "scheduler/policy_registry.h"

#include <algorithm>
#include <array>

namespace gopmill {

// Each in its own file, policy_<name>.cc.
Result<std::unique_ptr<Policy>> MakeHCahrw(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeCaAhrw(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeHAhrw(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeAhrw(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeAhrwTheory(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeHrw(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeFifo(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeMru(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeLru(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeHybrid(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeWired(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeConn(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeSm(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeRr(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeP2c(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakePLlf(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeAp(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakePsHrw(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeGpsHrw(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeStatic(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeQuantum(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeCohort(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeCredit(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeEverest(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeEverestAe(const PolicyOptions& options, const PoolState& pool);
Result<std::unique_ptr<Policy>> MakeHearth(const PolicyOptions& options, const PoolState& pool);

namespace {

constexpr std::array kPolicies = {
    PolicyEntry{"hearth", "a shared queue in which streams stay where they are warm", &MakeHearth,
                WorkConserving::kAll},
    PolicyEntry{"h-cahrw", "cache-aware adaptive hashing down the topology tree", &MakeHCahrw,
                WorkConserving::kHeads},
    PolicyEntry{"ca-ahrw", "cache-aware adaptive hashing over all workers", &MakeCaAhrw,
                WorkConserving::kHeads},
    PolicyEntry{"h-ahrw", "adaptive hashing down the topology tree, distances ignored", &MakeHAhrw,
                WorkConserving::kHeads},
    PolicyEntry{"ahrw", "adaptive hashing over all workers", &MakeAhrw, WorkConserving::kHeads},
    PolicyEntry{"ahrw-theory", "adaptive hashing with exact shares (CARP multipliers)",
                &MakeAhrwTheory, WorkConserving::kHeads},
    PolicyEntry{"hrw", "every stream to the worker its hash picks", &MakeHrw},
    PolicyEntry{"fifo", "one shared queue, any idle worker takes its head", &MakeFifo,
                WorkConserving::kAll},
    PolicyEntry{"mru", "shared queue, the most recently active idle worker first", &MakeMru,
                WorkConserving::kAll},
    PolicyEntry{"lru", "shared queue, the least recently active idle worker first", &MakeLru,
                WorkConserving::kAll},
    PolicyEntry{"hybrid", "shared queue that prefers workers with warm contexts", &MakeHybrid,
                WorkConserving::kAll},
    PolicyEntry{"wired", "streams wired to workers, waiting while theirs is busy", &MakeWired},
    PolicyEntry{"conn", "a new stream to the shortest queue, all its units follow", &MakeConn},
    PolicyEntry{"sm", "stream number modulo workers, fixed at arrival", &MakeSm},
    PolicyEntry{"rr", "units to the workers in turn", &MakeRr},
    PolicyEntry{"p2c", "the shorter queue of two drawn at random", &MakeP2c},
    PolicyEntry{"p-llf", "the worker that is predicted to finish the unit first", &MakePLlf,
                WorkConserving::kHeads},
    PolicyEntry{"ap", "workers divided among classes by weight, least loaded inside", &MakeAp},
    PolicyEntry{"ps-hrw", "proportional shares of classes over h-cahrw, fair queueing", &MakePsHrw,
                WorkConserving::kAll},
    PolicyEntry{"gps-hrw", "proportional shares of classes over plain hashing", &MakeGpsHrw,
                WorkConserving::kAll},
    PolicyEntry{"static", "workers divided among classes once and for all", &MakeStatic},
    PolicyEntry{"quantum", "each worker serves the classes in turn, four units each", &MakeQuantum,
                WorkConserving::kAll},
    PolicyEntry{"cohort", "each worker stays with a class until nothing of it waits", &MakeCohort,
                WorkConserving::kAll},
    PolicyEntry{"credit", "classes earn and spend credit, idle credit is lent", &MakeCredit,
                WorkConserving::kAll},
    PolicyEntry{"everest", "workers allocated to classes by queue length and deadline",
                &MakeEverest},
    PolicyEntry{"everest-ae", "the same, eager and work conserving", &MakeEverestAe,
                WorkConserving::kAll},
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
    return InvalidArgument("policy",
                           "There is no policy named \"" + std::string(name.substr(0, 40)) + "\".",
                           PolicyNames());
  }
  GOPMILL_RETURN_IF_ERROR(ValidateRatios(options.ratios, pool.worker_count()));
  return entry->make(options, pool);
}

}  // namespace gopmill
