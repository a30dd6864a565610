// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "scheduler/carp.h"
#include "scheduler/sim/arrivals.h"
#include "scheduler/sim/protocol_cost.h"
#include "scheduler/sim/random.h"
#include "scheduler/sim/simulation.h"

namespace gopmill::sim {
namespace {

// --- Protocol processing -------------------------------------------------------------------------
constexpr int kProcessors = 8;
constexpr int kPacketsPerStream = 10'000;
constexpr double kPublishedTolerance = 0.03;

// As many streams as processors, packets in a random order, far more than can be done.
Workload PacketFlood() {
  Workload workload{.name = "packets", .streams = {}, .units = {}};
  for (int s = 0; s < kProcessors; ++s) {
    workload.streams.push_back({.id = StreamId{static_cast<std::uint64_t>(s) + 1},
                                .number = static_cast<std::uint64_t>(s),
                                .first_unit = static_cast<std::uint32_t>(workload.units.size()),
                                .unit_count = kPacketsPerStream});
    workload.units.resize(workload.units.size() + kPacketsPerStream, SimUnit{.hot_ms = 0.1});
  }
  SetArrivals(workload, {ArrivalKind::kPoisson, 1}, 4.0, kProcessors, 1);
  return workload;
}

struct ProtocolCase {
  const char* name;
  Parallelization parallelization;
  const char* policy;
  double service_us;
  double capacity;  // thousand packets per second
};
constexpr ProtocolCase kProtocolCases[] = {
    {"locking", Parallelization::kLocking, "mru", 125.1, 64.0},
    {"locking, wired streams", Parallelization::kLocking, "wired", 103.1, 77.0},
    {"independent stacks", Parallelization::kIndependentStacks, "wired", 57.5, 139.0},
};

// --- Queueing theory -----------------------------------------------------------------------------
constexpr int kReplications = 10;
// 99 % quantile (two-sided) of Student's t with 9 degrees of freedom.
constexpr double kStudent9 = 3.25;
constexpr double kServiceMs = 10;
// However wide the interval is, a mistake of more is not let through.
constexpr double kMostOff = 0.03;

enum class Service { kConstant, kExponential };

Workload QueueingWorkload(Service service, double load, int servers, std::uint64_t seed) {
  constexpr std::uint32_t kUnits = 100'000;
  Random random(MixSeed(seed, 0x9E));
  Workload workload{.name = "queueing", .feed = Feed::kOpen, .streams = {}, .units = {}};
  workload.streams.push_back({.id = StreamId{1}, .first_unit = 0, .unit_count = kUnits});
  double now_ms = 0;
  for (std::uint32_t i = 0; i < kUnits; ++i) {
    now_ms += random.Exponential(kServiceMs / (load * servers));
    workload.units.push_back(
        {.arrival_ms = now_ms,
         .hot_ms = service == Service::kConstant ? kServiceMs : random.Exponential(kServiceMs)});
  }
  // The load that was drawn is a little off, and waiting times follow it steeply. Exactly the load
  // that is meant leaves a third of the spread between runs.
  const double gaps = kUnits * kServiceMs / (load * servers) / now_ms;
  const double services = kUnits * kServiceMs / workload.HotMillis();
  for (SimUnit& unit : workload.units) {
    unit.arrival_ms *= gaps;
    unit.hot_ms *= services;
  }
  return workload;
}

struct QueueingCase {
  std::string name;
  Service service = Service::kConstant;
  double load = 0;
  int servers = 1;
  double wait = 0;  // closed form, in service times
};

Result<ValidationRow> RunQueueing(const QueueingCase& wanted) {
  GOPMILL_ASSIGN_OR_RETURN(const Machine machine,
                           LoadMachine(fmt::format("pu:{}", wanted.servers)));
  SimulationParams params{.policy = "fifo", .cost = {.memory_share = 0, .refill_ms = 0}};
  double sum = 0;
  double squares = 0;
  for (std::uint64_t seed = 1; seed <= kReplications; ++seed) {
    const Workload workload = QueueingWorkload(wanted.service, wanted.load, wanted.servers, seed);
    GOPMILL_ASSIGN_OR_RETURN(const SimResult result, Simulate(params, machine, workload));
    sum += result.mean_wait_ms;
    squares += result.mean_wait_ms * result.mean_wait_ms;
  }
  const double mean = sum / kReplications;
  const double variance =
      std::max(0.0, (squares - kReplications * mean * mean) / (kReplications - 1));
  return ValidationRow{.what = wanted.name,
                       .unit = "ms waiting",
                       .expected = wanted.wait * kServiceMs,
                       .simulated = mean,
                       .tolerance = std::min(kStudent9 * std::sqrt(variance / kReplications),
                                             kMostOff * wanted.wait * kServiceMs),
                       .basis = "99 % interval of 10 runs, at most 3 %"};
}

// --- CARP multipliers ----------------------------------------------------------------------------
constexpr int kDraws = 200'000;

struct CarpCase {
  std::size_t workers = 0;
  // 99 % quantile of the largest of so many standard normal deviations (two-sided, by Bonferroni).
  double quantile = 0;
};
constexpr CarpCase kCarpCases[] = {{5, 3.09}, {64, 3.78}, {512, 4.27}};

// The largest deviation of a worker's share of the keys from its target, in standard errors.
double CarpDeviation(std::size_t workers) {
  std::vector<double> shares(workers);
  double sum = 0;
  for (std::size_t i = 0; i < workers; ++i) sum += shares[i] = 1.0 + static_cast<double>(i % 7);
  for (double& share : shares) share /= sum;
  CarpMultipliers carp(workers);
  const std::span<const double> multipliers = carp.Of(shares);
  std::vector<int> hits(workers, 0);
  Random random(workers);
  for (int draw = 0; draw < kDraws; ++draw) {
    std::size_t best = 0;
    double best_score = -1;
    for (std::size_t i = 0; i < workers; ++i) {
      const double score = multipliers[i] * random.Uniform();
      if (score > best_score) best_score = score, best = i;
    }
    ++hits[best];
  }
  double worst = 0;
  for (std::size_t i = 0; i < workers; ++i) {
    const double error = std::sqrt(shares[i] * (1 - shares[i]) / kDraws);
    worst = std::max(worst, std::abs(static_cast<double>(hits[i]) / kDraws - shares[i]) / error);
  }
  return worst;
}

}  // namespace

bool ValidationRow::passed() const { return std::abs(simulated - expected) <= tolerance; }

double WaitMD1(double load) { return load / (2 * (1 - load)); }

double WaitMMk(double load, int servers) {
  const double offered = load * servers;
  // Erlang's B by its recursion, then C.
  double blocking = 1;
  for (int k = 1; k <= servers; ++k) blocking = offered * blocking / (k + offered * blocking);
  const double waiting = blocking / (1 - load * (1 - blocking));
  return waiting / (servers * (1 - load));
}

Result<std::vector<ValidationRow>> ValidateProtocolProcessing() {
  std::vector<ValidationRow> rows;
  GOPMILL_ASSIGN_OR_RETURN(const Machine machine, LoadMachine(fmt::format("pu:{}", kProcessors)));
  const Workload workload = PacketFlood();
  for (const ProtocolCase& published : kProtocolCases) {
    SimulationParams params{.policy = published.policy};
    params.make_cost_model = [&](int processors) {
      return std::make_unique<ProtocolCostModel>(published.parallelization, processors);
    };
    GOPMILL_ASSIGN_OR_RETURN(const SimResult result, Simulate(params, machine, workload));
    rows.push_back({.what = std::string(published.name) + ", service",
                    .unit = "us",
                    .expected = published.service_us,
                    .simulated = result.mean_service_ms * 1000,
                    .tolerance = published.service_us * kPublishedTolerance,
                    .basis = "3 % of the published value"});
    rows.push_back({.what = std::string(published.name) + ", capacity",
                    .unit = "k packets/s",
                    .expected = published.capacity,
                    .simulated = result.gops_per_second / 1000,
                    .tolerance = published.capacity * kPublishedTolerance,
                    .basis = "3 % of the published value"});
  }
  return rows;
}

Result<std::vector<ValidationRow>> ValidateQueueing() {
  std::vector<ValidationRow> rows;
  for (const double load : {0.5, 0.8}) {
    GOPMILL_ASSIGN_OR_RETURN(rows.emplace_back(),
                             RunQueueing({fmt::format("M/D/1 at load {}", load), Service::kConstant,
                                          load, 1, WaitMD1(load)}));
  }
  for (const auto& [servers, load] :
       {std::pair(1, 0.5), std::pair(1, 0.8), std::pair(4, 0.8), std::pair(8, 0.8)}) {
    GOPMILL_ASSIGN_OR_RETURN(
        rows.emplace_back(),
        RunQueueing({fmt::format("M/M/{} at load {}", servers, load), Service::kExponential, load,
                     servers, WaitMMk(load, servers)}));
  }
  return rows;
}

std::vector<ValidationRow> ValidateCarp() {
  std::vector<ValidationRow> rows;
  for (const CarpCase& wanted : kCarpCases) {
    rows.push_back({.what = fmt::format("CARP shares of {} workers", wanted.workers),
                    .unit = "standard errors off",
                    .expected = 0,
                    .simulated = CarpDeviation(wanted.workers),
                    .tolerance = wanted.quantile,
                    .basis = "99 % of the largest of as many"});
  }
  return rows;
}

Result<std::vector<ValidationRow>> Validate() {
  GOPMILL_ASSIGN_OR_RETURN(std::vector<ValidationRow> rows, ValidateProtocolProcessing());
  GOPMILL_ASSIGN_OR_RETURN(const std::vector<ValidationRow> queueing, ValidateQueueing());
  rows.insert(rows.end(), queueing.begin(), queueing.end());
  const std::vector<ValidationRow> carp = ValidateCarp();
  rows.insert(rows.end(), carp.begin(), carp.end());
  return rows;
}

std::string ValidationText(const std::vector<ValidationRow>& rows) {
  std::string text = fmt::format("{:<34} {:>10} {:>10} {:>9}  {}\n", "", "expected", "simulated",
                                 "allowed", "unit, basis");
  for (const ValidationRow& row : rows) {
    text += fmt::format("{:<34} {:>10.4g} {:>10.4g} {:>9.3g}  {}, {}{}\n", row.what, row.expected,
                        row.simulated, row.tolerance, row.unit, row.basis,
                        row.passed() ? "" : "   FAILED");
  }
  return text;
}

}  // namespace gopmill::sim
