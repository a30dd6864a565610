// SPDX-License-Identifier: Apache-2.0
//
// How long one scheduling decision takes, by policy and size of the machine.
//
//   policy_bench --benchmark_repetitions=9 --benchmark_report_aggregates_only=true
//
// busy/<policy>/<workers>: Policy::On for one arriving unit of 512 streams while every worker holds
//   one or two units of random sizes.
// one_idle/<policy>/<workers>: the same with one idle worker somewhere.
// free/<policy>/<workers>: Policy::On for a worker that has nothing left while 512 streams wait and
//   all others are busy: where shared queues decide. Times are learned, the worker has contexts of
//   some of the streams open, and the three oldest units would overtake what runs of their streams.
// free_cold/<policy>/<workers>: the same where none of the streams has run on that worker, so that
//   what is not warm has to be compared.
// home/<policy>/<workers>: Policy::Home, once per stream.
// step/<policy>/<workers>: Dispatcher::Step for one completion and one arrival, that is everything
// a
//   unit costs but its hops between threads; three streams per worker, one unit at a time each.
//
// hold/10000: PoolState::Hold of one of 10,000 heads that are held for one worker.
//
// ca-ahrw looks at every worker and serves at most 256; it is left out of the big machine.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/dispatcher.h"
#include "scheduler/policy_registry.h"
#include "scheduler/topology_hwloc.h"
#include "scheduler/worker_layout.h"

namespace gopmill {
namespace {

struct Machine {
  const char* name;
  const char* synthetic;
};

constexpr Machine kMachines[] = {
    {"8", "pack:2 l2:2 core:2 pu:1"},
    {"64", "pack:2 l3:4 core:4 pu:2"},
    {"4096", "pack:8 numa:4 l3:8 core:8 pu:2"},
};
constexpr std::uint64_t kStreams = 512;
// What a unit takes, and for how long units have waited when a worker comes free.
constexpr std::size_t kRunBytes = 9000;
constexpr Duration kRun = std::chrono::milliseconds(20);
constexpr Duration kOpening = std::chrono::milliseconds(1);
constexpr Duration kWaited = std::chrono::milliseconds(5);
constexpr TimePoint kNow{std::chrono::seconds(10)};
constexpr std::uint64_t kOvertaking = 3;
constexpr std::uint64_t kHeld = 10'000;

struct Bench {
  std::unique_ptr<PoolState> pool;
  std::unique_ptr<Policy> policy;  // null if it does not serve so many workers
};

Bench MakeBench(const char* policy, const Machine& machine) {
  const Topology topology = TopologyFromSynthetic(machine.synthetic).value();
  Bench bench;
  bench.pool = std::make_unique<PoolState>(topology, LayOutWorkers(topology, topology.pu_count()),
                                           PoolState::Params{});
  Result<std::unique_ptr<Policy>> made = MakePolicy(policy, {}, *bench.pool);
  if (made.ok()) bench.policy = std::move(made).value();
  return bench;
}

JobSpec UnitOf(std::uint64_t stream, std::int64_t index, std::size_t bytes) {
  return {
      .unit = {StreamId{stream}, UnitIndex{index}}, .stream_number = stream, .cost_bytes = bytes};
}

// Gives every worker but `idle` (-1: every worker) one or two units of a stream that takes no
// further part, since `now`.
void Load(PoolState& pool, int idle, TimePoint now) {
  std::mt19937 random(1);
  for (std::int32_t w = 0; w < pool.worker_count(); ++w) {
    if (w == idle) continue;
    for (unsigned n = 1 + random() % 2; n > 0; --n) {
      const UnitRef ref = pool.Add(
          {.unit = {StreamId{1'000'000}, {}}, .cost_bytes = 5000 + random() % 50'000}, nullptr);
      pool.Assign(ref, WorkerId{w}, now);
    }
  }
}

void Decide(benchmark::State& state, Bench bench, int idle) {
  PoolState& pool = *bench.pool;
  Load(pool, idle, {});
  std::vector<UnitRef> heads;
  for (std::uint64_t s = 0; s < kStreams; ++s) {
    heads.push_back(pool.Add({.unit = {StreamId{s}, {}}, .cost_bytes = 9000}, nullptr));
    pool.SetHome(heads.back(), bench.policy->Home(StreamId{s}, pool));
  }
  ActionList actions;
  std::size_t next = 0;
  for (auto _ : state) {
    actions.Clear();
    bench.policy->On(Arrived{heads[next]}, pool, {}, actions);
    benchmark::DoNotOptimize(actions);
    next = (next + 1) % heads.size();
  }
}

void DecideBusy(benchmark::State& state, Bench bench) { Decide(state, std::move(bench), -1); }
void DecideOneIdle(benchmark::State& state, Bench bench) {
  const int idle = bench.pool->worker_count() / 3;
  Decide(state, std::move(bench), idle);
}

// Runs a unit of the stream where the policy wants it on the idle machine, and lets both learn from
// it. Returns the worker.
WorkerId Teach(Bench& bench, std::uint64_t stream) {
  PoolState& pool = *bench.pool;
  ActionList actions;
  const UnitRef ref = pool.Add(UnitOf(stream, 0, kRunBytes), nullptr);
  pool.SetHome(ref, bench.policy->Home(StreamId{stream}, pool));
  bench.policy->On(Arrived{ref}, pool, {}, actions);
  const auto* assign =
      actions.actions().empty() ? nullptr : std::get_if<Assign>(&actions.actions()[0]);
  const WorkerId w = assign != nullptr ? assign->worker : pool.unit(ref).home.worker;
  pool.Assign(ref, w, {});
  pool.Unassign(ref, TimePoint(kOpening + kRun));
  JobReport report = pool.unit(ref).report;
  report.worker = w;
  report.outcome = JobOutcome::kDone;
  report.finished = TimePoint(kOpening + kRun);
  report.cold = true;
  report.opening = kOpening;
  pool.Account(ref, report);
  actions.Clear();
  bench.policy->On(UnitFinished{ref, w, kOpening + kRun, true}, pool, report.finished, actions);
  pool.Release(ref);
  return w;
}

// A unit of the stream waits where the policy wants it.
void Wait(Bench& bench, std::uint64_t stream, TimePoint submitted) {
  PoolState& pool = *bench.pool;
  ActionList actions;
  const UnitRef ref = pool.Add(UnitOf(stream, 2, kRunBytes), nullptr);
  pool.unit(ref).report.submitted = submitted;
  pool.SetHome(ref, bench.policy->Home(StreamId{stream}, pool));
  bench.policy->On(Arrived{ref}, pool, submitted, actions);
  if (actions.actions().empty()) return;
  const auto* hold = std::get_if<Hold>(&actions.actions()[0]);
  if (hold != nullptr) pool.Hold(ref, hold->worker);
}

// Everybody is busy, the oldest kOvertaking streams with long units of their own, while one unit of
// each stream comes to wait; then `free` has done all that it had. Streams that ran there wait only
// if it shall be warm for some.
void FillQueue(Bench& bench, const std::vector<WorkerId>& ran, WorkerId free, bool warm) {
  PoolState& pool = *bench.pool;
  Load(pool, -1, kNow - kWaited);
  std::uint64_t overtaking = kOvertaking;
  for (std::uint64_t s = 0; s < kStreams; ++s) {
    if (!warm && ran[s] == free) continue;
    if (overtaking > 0) {
      const auto w =
          static_cast<std::int32_t>((static_cast<std::uint64_t>(free.value) + overtaking--) %
                                    static_cast<std::uint64_t>(pool.worker_count()));
      pool.Assign(pool.Add(UnitOf(s, 1, 10 * kRunBytes), nullptr), WorkerId{w}, kNow - kWaited);
    }
    Wait(bench, s, kNow - kWaited + static_cast<Duration::rep>(s) * std::chrono::microseconds(1));
  }
  for (UnitRef ref; (ref = pool.Running(free)).valid();) {
    pool.Unassign(ref, kNow);
    pool.Release(ref);
  }
}

void DecideFreeFor(benchmark::State& state, Bench bench, bool warm) {
  std::vector<WorkerId> ran;
  for (std::uint64_t s = 0; s < kStreams; ++s) ran.push_back(Teach(bench, s));
  const WorkerId free = warm ? ran.back() : WorkerId{bench.pool->worker_count() / 3};
  FillQueue(bench, ran, free, warm);
  ActionList actions;
  for (auto _ : state) {
    actions.Clear();
    bench.policy->On(WorkerFree{free}, *bench.pool, kNow, actions);
    benchmark::DoNotOptimize(actions);
  }
}

void DecideFree(benchmark::State& state, Bench bench) {
  DecideFreeFor(state, std::move(bench), true);
}
void DecideFreeCold(benchmark::State& state, Bench bench) {
  DecideFreeFor(state, std::move(bench), false);
}

void Home(benchmark::State& state, Bench bench) {
  std::uint64_t stream = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(bench.policy->Home(StreamId{++stream}, *bench.pool));
  }
}

void Step(benchmark::State& state, Bench bench) {
  const auto workers = static_cast<std::uint64_t>(bench.pool->worker_count());
  Dispatcher dispatcher(std::move(bench.pool), std::move(bench.policy), nullptr);
  std::mt19937 random(1);
  std::vector<DispatcherAction> actions;
  std::deque<JobReport> running;
  std::int64_t index = 0;
  const auto note_started = [&] {
    for (const DispatcherAction& action : actions) {
      if (const auto* start = std::get_if<StartAction>(&action)) {
        running.push_back(start->ticket.report);
      }
    }
    actions.clear();
  };
  const auto arrive = [&] {
    const std::uint64_t stream = static_cast<std::uint64_t>(index) % (3 * workers);
    dispatcher.Step(JobArrived{.spec = {.unit = {StreamId{stream}, UnitIndex{index++}},
                                        .stream_number = stream,
                                        .cost_bytes = 5000 + random() % 50'000},
                               .job = nullptr,
                               .submitted = {}},
                    {}, actions);
    note_started();
  };
  for (std::uint64_t i = 0; i < 3 * workers; ++i) arrive();
  for (auto _ : state) {
    const JobReport report = running.front();
    running.pop_front();
    dispatcher.Step(JobFinished{report, nullptr}, {}, actions);
    note_started();
    arrive();
  }
}

// Each in turn is held anew for the worker that all wait for.
void Hold(benchmark::State& state, Bench bench) {
  PoolState& pool = *bench.pool;
  std::vector<UnitRef> heads;
  for (std::uint64_t s = 0; s < kHeld; ++s) {
    heads.push_back(pool.Add(UnitOf(s, 0, kRunBytes), nullptr));
    pool.Hold(heads.back(), WorkerId{0});
  }
  std::size_t next = 0;
  for (auto _ : state) {
    pool.Hold(heads[next], WorkerId{0});
    next = (next + 1) % heads.size();
  }
}

void RegisterAll() {
  using Function = void (*)(benchmark::State&, Bench);
  const std::pair<const char*, Function> kinds[] = {
      {"busy", &DecideBusy}, {"one_idle", &DecideOneIdle},
      {"free", &DecideFree}, {"free_cold", &DecideFreeCold},
      {"home", &Home},       {"step", &Step}};
  for (const auto& [kind, function] : kinds) {
    for (const PolicyEntry& entry : Policies()) {
      for (const Machine& machine : kMachines) {
        const char* const policy = entry.name.data();
        if (MakeBench(policy, machine).policy == nullptr) continue;
        const std::string name = fmt::format("{}/{}/{}", kind, entry.name, machine.name);
        const auto run = [function = function, policy, machine](benchmark::State& state) {
          function(state, MakeBench(policy, machine));
        };
        benchmark::RegisterBenchmark(name.c_str(), run);
      }
    }
  }
  const auto hold = [](benchmark::State& state) { Hold(state, MakeBench("fifo", kMachines[0])); };
  benchmark::RegisterBenchmark(fmt::format("hold/{}", kHeld).c_str(), hold);
}

}  // namespace
}  // namespace gopmill

int main(int argc, char** argv) {
  gopmill::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
