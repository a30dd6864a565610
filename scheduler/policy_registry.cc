// SPDX-License-Identifier: Apache-2.0
#include "scheduler/policy_registry.h"

#include <algorithm>
#include <array>

#include "base/shared_settings.h"
#include "base/words.h"

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

// Which options the rules read, by what they look at. The homes of all are drawn by the hash;
// queues in predicted times depend on the contexts.
constexpr std::string_view kOfHomes = "hash";
constexpr std::string_view kOfContexts = "hash contexts";
constexpr std::string_view kOfQueues = "hash running measure contexts";
constexpr std::string_view kOfAhrw = "hash minimum running measure contexts";
constexpr std::string_view kOfCaAhrw = "hash minimum weight running measure contexts ratios";
constexpr std::string_view kOfHAhrw =
    "hash minimum running children measure parent node-ids home contexts";
constexpr std::string_view kOfHCahrw =
    "hash minimum weight running children measure parent node-ids home contexts ratios";
constexpr std::string_view kOfPsHrw =
    "hash minimum weight running children measure parent node-ids home share sets beta contexts "
    "ratios";
constexpr std::string_view kOfGpsHrw = "hash running measure share sets beta contexts";
constexpr std::string_view kOfHearth = "hash children node-ids home contexts ratios";

constexpr bool kByClass = true;

constexpr std::array kPolicies = {
    PolicyEntry{"hearth", "a shared queue in which streams stay where they are warm", &MakeHearth,
                kOfHearth, WorkConserving::kAll},
    PolicyEntry{"h-cahrw", "cache-aware adaptive hashing down the topology tree", &MakeHCahrw,
                kOfHCahrw, WorkConserving::kHeads},
    PolicyEntry{"ca-ahrw", "cache-aware adaptive hashing over all workers", &MakeCaAhrw, kOfCaAhrw,
                WorkConserving::kHeads},
    PolicyEntry{"h-ahrw", "adaptive hashing down the topology tree, distances ignored", &MakeHAhrw,
                kOfHAhrw, WorkConserving::kHeads},
    PolicyEntry{"ahrw", "adaptive hashing over all workers", &MakeAhrw, kOfAhrw,
                WorkConserving::kHeads},
    PolicyEntry{"ahrw-theory", "adaptive hashing with exact shares (CARP multipliers)",
                &MakeAhrwTheory, kOfQueues, WorkConserving::kHeads},
    PolicyEntry{"hrw", "every stream to the worker its hash picks", &MakeHrw, kOfHomes},
    PolicyEntry{"fifo", "one shared queue, any idle worker takes its head", &MakeFifo, kOfHomes,
                WorkConserving::kAll},
    PolicyEntry{"mru", "shared queue, the most recently active idle worker first", &MakeMru,
                kOfHomes, WorkConserving::kAll},
    PolicyEntry{"lru", "shared queue, the least recently active idle worker first", &MakeLru,
                kOfHomes, WorkConserving::kAll},
    PolicyEntry{"hybrid", "shared queue that prefers workers with warm contexts", &MakeHybrid,
                kOfContexts, WorkConserving::kAll},
    PolicyEntry{"wired", "streams wired to workers, waiting while theirs is busy", &MakeWired,
                kOfHomes},
    PolicyEntry{"conn", "a new stream to the shortest queue, all its units follow", &MakeConn,
                kOfQueues},
    PolicyEntry{"sm", "stream number modulo workers, fixed at arrival", &MakeSm, kOfHomes},
    PolicyEntry{"rr", "units to the workers in turn", &MakeRr, kOfHomes},
    PolicyEntry{"p2c", "the shorter queue of two drawn at random", &MakeP2c, kOfQueues},
    PolicyEntry{"p-llf", "the worker that is predicted to finish the unit first", &MakePLlf,
                kOfQueues, WorkConserving::kHeads},
    PolicyEntry{"ap", "workers divided among classes by weight, least loaded inside", &MakeAp,
                kOfQueues, WorkConserving::kNo, kByClass},
    PolicyEntry{"ps-hrw", "proportional shares of classes over h-cahrw, fair queueing", &MakePsHrw,
                kOfPsHrw, WorkConserving::kAll, kByClass},
    PolicyEntry{"gps-hrw", "proportional shares of classes over plain hashing", &MakeGpsHrw,
                kOfGpsHrw, WorkConserving::kAll, kByClass},
    PolicyEntry{"static", "workers divided among classes, none uses another's", &MakeStatic,
                kOfContexts, WorkConserving::kNo, kByClass},
    PolicyEntry{"quantum", "each worker serves the classes in turn, four units each", &MakeQuantum,
                kOfContexts, WorkConserving::kAll, kByClass},
    PolicyEntry{"cohort", "each worker stays with a class until nothing of it waits", &MakeCohort,
                kOfContexts, WorkConserving::kAll, kByClass},
    PolicyEntry{"credit", "classes earn and spend credit, idle credit is lent", &MakeCredit,
                kOfContexts, WorkConserving::kAll, kByClass},
    PolicyEntry{"everest", "workers allocated to classes by queue length and deadline",
                &MakeEverest, kOfContexts, WorkConserving::kNo, kByClass},
    PolicyEntry{"everest-ae", "the same, eager and work conserving", &MakeEverestAe, kOfContexts,
                WorkConserving::kAll, kByClass},
};
static_assert(kPolicies.front().name == kDefaultPolicy);

bool IsRead(const PolicyEntry& entry, std::string_view option) {
  return std::ranges::count(Words(entry.options), option) > 0;
}

std::string ReadersOf(std::string_view option) {
  std::string names;
  for (const PolicyEntry& entry : kPolicies) {
    if (IsRead(entry, option)) names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  return names;
}

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

std::string ThoseByClassBut(std::string_view policy) {
  std::string names;
  for (const PolicyEntry& entry : kPolicies) {
    if (!entry.by_class) continue;
    if (entry.name == policy) return {};
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  return names;
}

bool NothingWaitsBesideAnIdleWorker(std::string_view policy, const PolicyOptions& options) {
  const auto* const entry = std::ranges::find(kPolicies, policy, &PolicyEntry::name);
  if (entry == kPolicies.end() || entry->work_conserving != WorkConserving::kAll) return false;
  return !IsRead(*entry, "share") || options.share == ShareRule::kTwoLevel;
}

Status CheckOptionsAreRead(std::string_view rules, std::span<const std::string> policies) {
  for (const std::string_view rule : Split(rules, ',')) {
    const std::string_view option = rule.substr(0, rule.find('='));
    const std::string readers = ReadersOf(option);
    const bool is_read = std::ranges::any_of(kPolicies, [&](const PolicyEntry& entry) {
      return IsRead(entry, option) && std::ranges::count(policies, entry.name) > 0;
    });
    // What no policy knows is for ParsePolicyOptions to refuse.
    if (is_read || readers.empty()) continue;
    return InvalidArgument("scheduler-options",
                           "No scheduler that was chosen reads \"" + std::string(option) + "\".",
                           std::string(option) + " with " + readers);
  }
  return OkStatus();
}

Status CheckPolicyName(std::string_view parameter, std::string_view name) {
  if (std::ranges::find(kPolicies, name, &PolicyEntry::name) != kPolicies.end()) return OkStatus();
  return InvalidArgument(std::string(parameter),
                         "There is no policy named \"" + std::string(name.substr(0, 40)) + "\".",
                         PolicyNames());
}

Result<std::vector<std::string>> ParsePolicyNames(std::string_view text) {
  constexpr const char* kParameter = "scheduler";
  std::vector<std::string> names;
  if (text == "all") {
    for (const PolicyEntry& entry : kPolicies) names.emplace_back(entry.name);
    return names;
  }
  for (const std::string_view name : Split(text, ',')) {
    if (const Status known = CheckPolicyName(kParameter, name); !known.ok()) {
      Error error = known.error();
      error.accepted = "all, or names separated by commas: " + error.accepted;
      return error;
    }
    if (std::ranges::count(names, name) > 0) {
      return InvalidArgument(kParameter, "The policy " + std::string(name) + " is named twice.",
                             "each policy once");
    }
    names.emplace_back(name);
  }
  return names;
}

Result<std::unique_ptr<Policy>> MakePolicy(std::string_view name, const PolicyOptions& options,
                                           const PoolState& pool) {
  GOPMILL_RETURN_IF_ERROR(CheckPolicyName("scheduler.policy", name));
  const auto* const entry = std::ranges::find(kPolicies, name, &PolicyEntry::name);
  GOPMILL_RETURN_IF_ERROR(ValidateRatios(options.ratios, pool.worker_count()));
  return entry->make(options, pool);
}

}  // namespace gopmill
