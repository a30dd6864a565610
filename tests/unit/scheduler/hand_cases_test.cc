// SPDX-License-Identifier: Apache-2.0
//
// Rules on cases small enough to work out by hand, and the flat hashes against their definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>

#include "scheduler/worker_layout.h"
#include "tests/unit/scheduler/class_load.h"

namespace gopmill {
namespace {

using std::chrono::milliseconds;

// --- ahrw and ca-ahrw, the slow way --------------------------------------------------------------

// Two sockets x two L2 x two cores.
double RatioOnE5335(int home, int w) {
  if (home == w) return 1;
  if (home / 2 == w / 2) return 2;
  return home / 4 == w / 4 ? 4 : 12;
}

// argmax over p of w_p g(stream, p); w_p = smallest queue / Q'_p, and 1 where nothing is queued.
class SlowFlatChoice {
 public:
  SlowFlatChoice(const PolicyOptions& options, bool distances, const PoolState& state, int home)
      : options_(options), distances_(distances), state_(state), home_(home) {}

  [[nodiscard]] int Choose(std::uint64_t key) const {
    int best = -1;
    double best_score = -1;
    for (int p = 0; p < 8; ++p) {
      const double w = Plain(p) == 0 ? 1 : Smallest() / Weighted(p);
      const double g = Weight(HashKind::kMixed, key, Candidate::Of(static_cast<std::uint32_t>(p)));
      if (w * g > best_score) best_score = w * g, best = p;
    }
    return best;
  }

 private:
  [[nodiscard]] double Plain(int p) const {
    return static_cast<double>(state_.loads()[static_cast<std::size_t>(p)]);
  }
  [[nodiscard]] double Weighted(int p) const {
    return Plain(p) * (distances_ ? RatioOnE5335(home_, p) : 1);
  }
  [[nodiscard]] double Smallest() const {
    double smallest = 1e300;
    for (int p = 0; p < 8; ++p) {
      if (options_.minimum == MinimumRule::kNonZero && Plain(p) == 0) continue;
      const bool printed = options_.weight == WeightRule::kPrintedMinimum;
      smallest = std::min(smallest, printed ? Plain(p) : Weighted(p));
    }
    return smallest;
  }

  const PolicyOptions& options_;
  const bool distances_;
  const PoolState& state_;
  const int home_;
};

// Random queues, one in four empty in every other round, and where one unit goes then.
void ExpectTheDefinition(const char* name, const PolicyOptions& options, std::uint64_t seed) {
  const Topology topology = SyntheticTopology(kXeonE5335Synthetic);
  PoolState state(topology, LayOutWorkers(topology, 8), {.run_queue_units = 0, .options = options});
  const auto policy = MakePolicy(name, options, state).value();
  std::mt19937 random(static_cast<std::uint32_t>(seed));
  for (int w = 0; w < 8; ++w) {
    if (seed % 2 == 0 && random() % 4 == 0) continue;
    const UnitRef queued = state.Add(
        {.unit = {StreamId{1'000'000}, UnitIndex{w}}, .cost_bytes = 1 + random() % 9999}, nullptr);
    state.Assign(queued, WorkerId{w}, {});
  }
  const UnitRef unit = state.Add({.unit = {StreamId{seed}, {}}, .cost_bytes = 1}, nullptr);
  const StreamHome home = policy->Home(StreamId{seed}, state);
  state.SetHome(unit, home);
  ActionList actions;
  policy->On(Arrived{unit}, state, {}, actions);
  const bool distances = name == std::string("ca-ahrw");
  const SlowFlatChoice slow(options, distances, state, home.worker.value);
  ASSERT_EQ(std::get<Assign>(actions.actions()[0]).worker.value, slow.Choose(home.key))
      << name << ", stream " << seed;
}

TEST(FlatChoiceTest, AgreesWithTheDefinitionInEachForm) {
  PolicyOptions options;
  options.ratios.levels = XeonE5335Ratios();
  for (const MinimumRule minimum : {MinimumRule::kPlain, MinimumRule::kNonZero}) {
    for (const WeightRule weight : {WeightRule::kWeightedMinimum, WeightRule::kPrintedMinimum}) {
      options.minimum = minimum;
      options.weight = weight;
      for (std::uint64_t seed = 0; seed < 500; ++seed) {
        ExpectTheDefinition("ahrw", options, seed);
        ExpectTheDefinition("ca-ahrw", options, seed);
      }
    }
  }
}

// --- p-llf ---------------------------------------------------------------------------------------

// Worker A is warm and has 20 ms left, worker B is cold and idle: 20 + 10 ms against 10 ms and the
// opening.
int WhereTheUnitGoes(milliseconds opening) {
  VirtualPool pool({.topology = "core:2 pu:1", .policy = "p-llf"});
  pool.opening_time = [opening](const Ticket& ticket) {
    return ticket.report.unit.index.value == 0 ? opening : milliseconds(0);
  };
  pool.service_time = [](const Ticket& ticket) {
    return milliseconds(ticket.report.unit.stream.value == 1 ? 10 : 20);
  };
  pool.complete_spec = [](JobSpec& spec) { spec.frames = spec.unit.stream.value == 1 ? 1 : 2; };
  pool.Submit(1, 0);
  const int a = pool.WorkerOf(1, 0);
  pool.FinishAll();
  pool.Submit(1, 1);
  EXPECT_EQ(pool.WorkerOf(1, 1), a) << "nobody is busy, and A is warm";
  pool.Submit(1, 2);
  return pool.WorkerOf(1, 2) == a ? 0 : 1;
}

TEST(PLlfTest, WaitsForAWarmWorkerAsLongAsOpeningWouldTake) {
  EXPECT_EQ(WhereTheUnitGoes(milliseconds(15)), 0) << "10 + 10 ms there, 25 ms here";
  EXPECT_EQ(WhereTheUnitGoes(milliseconds(5)), 1) << "10 + 10 ms there, 15 ms here";
}

// --- The rules for classes, on one worker --------------------------------------------------------

// In which order it serves the classes; `units` of each, of one stream, submitted in turns.
std::string OrderOfClasses(const char* policy, const std::string& classes,
                           const std::array<int, 3>& units,
                           const std::array<std::size_t, 3>& bytes = {1000, 1000, 1000}) {
  VirtualPool pool({.topology = "pu:1", .policy = policy, .options = ClassOptions(classes)});
  pool.complete_spec = [](JobSpec& spec) {
    spec.service_class = static_cast<std::uint16_t>(spec.unit.stream.value);
  };
  const int most = *std::ranges::max_element(units);
  for (int index = 0; index < most; ++index) {
    for (std::size_t c = 0; c < 3; ++c) {
      if (index < units.at(c)) pool.Submit(c, index, bytes.at(c));
    }
  }
  pool.FinishAll();
  std::string order;
  for (const auto& each : pool.assignments()) order += "abc"[each.unit.stream.value];
  return order;
}

TEST(ClassRulesTest, QuantumServesFourUnitsAndGoesOn) {
  EXPECT_EQ(OrderOfClasses("quantum", "a:9,b:1,c:1", {6, 6, 5}), "aaaabbbbccccaabbc");
}

TEST(ClassRulesTest, CohortGoesOnWithMostWaitingBytes) {
  EXPECT_EQ(OrderOfClasses("cohort", "a:1,b:9,c:1", {2, 4, 1}, {1000, 1000, 5000}), "aacbbbb");
}

// Each unit of 10 ms costs a 10 / 0.75 and b 10 / 0.25 of its share's worth; whoever owes least is
// served, of equals the first. Nothing is earned before 100 ms.
TEST(ClassRulesTest, CreditIsPaidByTimeThroughShare) {
  EXPECT_EQ(OrderOfClasses("credit", "a:3,b:1", {9, 9, 0}).substr(0, 9), "abaaabaaa");
}

// Shares of eight workers are 4.4, 2.7 and 0.9: middles 0.5 to 3.5, 4.5 to 6.5, and 7.5.
TEST(ClassRulesTest, StaticGivesWorkersByTheirMiddles) {
  ClassLoad load("static");
  std::array<std::string, 3> workers;
  load.pool.on_assigned = [&](UnitId unit, WorkerId w, WorkerId) {
    std::string& of_class = workers.at(unit.stream.value % 3);
    const std::string digit = std::to_string(w.value);
    if (of_class.find(digit) == std::string::npos) of_class += digit;
  };
  for (std::uint64_t c = 0; c < 3; ++c) load.Start(c);
  load.Run(2);
  for (std::string& each : workers) std::ranges::sort(each);
  EXPECT_EQ(workers[0], "0123");
  EXPECT_EQ(workers[1], "456");
  EXPECT_EQ(workers[2], "7");
}

}  // namespace
}  // namespace gopmill
