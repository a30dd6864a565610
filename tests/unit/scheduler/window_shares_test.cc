// SPDX-License-Identifier: Apache-2.0
//
// The guarantee of fair_queue.h in every window, not only over the whole run: for two classes with
// units all the time, served_i / w_i and served_j / w_j differ in any (a, b] by at most one unit of
// each per worker,
//
//     |(S_i(b) - S_i(a)) / w_i - (S_j(b) - S_j(a)) / w_j|  <=  N (L_i / w_i + L_j / w_j)
//
// S: worker time served up to then, L: longest unit as measured or predicted, N: workers. With D =
// S_i / w_i - S_j / w_j the left side is |D(b) - D(a)|, so the worst of all windows is max D - min
// D; D is a line between the beginnings and ends of runs, so these are all the places to look at.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/unit/scheduler/class_load.h"

namespace gopmill {
namespace {

using std::chrono::milliseconds;

struct ClassRun {
  std::size_t of = 0;  // class
  TimePoint began, ended;
};

// The largest difference of what two classes were served for their weights, in any window that ends
// by `end`: seconds of weight 1.
double WorstWindow(const std::vector<ClassRun>& runs, std::array<std::size_t, 2> classes,
                   std::array<double, 2> weights, TimePoint end) {
  struct Change {
    TimePoint at;
    double rate = 0;  // of D
  };
  std::vector<Change> changes = {{end, 0}};
  for (const ClassRun& run : runs) {
    if (run.of != classes[0] && run.of != classes[1]) continue;
    const double rate = run.of == classes[0] ? 1 / weights[0] : -1 / weights[1];
    changes.push_back({std::min(run.began, end), rate});
    changes.push_back({std::min(run.ended, end), -rate});
  }
  std::ranges::stable_sort(changes, {}, &Change::at);
  double lead = 0, rate = 0, most = 0, least = 0;
  TimePoint last = changes.front().at;
  for (const Change& change : changes) {
    lead += rate * ToSeconds(change.at - last);
    last = change.at;
    rate += change.rate;
    most = std::max(most, lead);
    least = std::min(least, lead);
  }
  return most - least;
}

TEST(WorstWindowTest, IsTheWorstOfAllWindows) {
  const auto at = [](int seconds) { return TimePoint{std::chrono::seconds(seconds)}; };
  // 0 alone for 2 s, 1 for 6, 0 for 6: over all of it 8 to 6, in the windows 6 to 0 and 0 to 6.
  const std::vector<ClassRun> runs = {
      {0, at(0), at(2)}, {1, at(2), at(8)}, {2, at(0), at(20)}, {0, at(8), at(14)}};
  EXPECT_DOUBLE_EQ(WorstWindow(runs, {0, 1}, {1, 1}, at(14)), 6);
  EXPECT_DOUBLE_EQ(WorstWindow(runs, {0, 1}, {1, 3}, at(14)), 6);
  EXPECT_DOUBLE_EQ(WorstWindow(runs, {0, 1}, {1, 3}, at(8)), 2);
  EXPECT_DOUBLE_EQ(WorstWindow(runs, {1, 0}, {1, 2}, at(5)), 3);
  EXPECT_DOUBLE_EQ(WorstWindow(runs, {0, 2}, {1, 1}, at(20)), 12);
}

struct UnitTimes {
  const char* name;
  milliseconds (*of)(std::size_t c, std::int64_t index) = nullptr;
};

constexpr std::array<UnitTimes, 4> kUnitTimes = {
    UnitTimes{"alike", [](std::size_t, std::int64_t) { return milliseconds(20); }},
    // The mean is 100 ms, and three of four end long before it.
    UnitTimes{"uneven",
              [](std::size_t c, std::int64_t index) {
                return milliseconds(c != 0 ? 10 : index % 4 == 3 ? 325 : 25);
              }},
    UnitTimes{"of very different length",
              [](std::size_t c, std::int64_t) {
                return std::array{milliseconds(2000), milliseconds(10), milliseconds(50)}.at(c);
              }},
    // What was learned is wrong each time that they change.
    UnitTimes{"longer and shorter by turns",
              [](std::size_t c, std::int64_t index) {
                const bool is_long = (index / 50 + static_cast<std::int64_t>(c)) % 2 == 0;
                return milliseconds(is_long ? 120 : 12);
              }},
};

// All runs of three classes that always wait, and the longest run of each, as measured or as it was
// predicted when it began.
struct Recorded {
  std::vector<ClassRun> runs;
  std::array<double, 3> longest = {};
  std::array<double, 3> weights = {};
  TimePoint end;
  double workers = 0;

  void See(std::size_t c, double seconds) { longest[c] = std::max(longest[c], seconds); }
};

// Another policy, and what it expected of each run.
class Watched final : public Policy {
 public:
  Watched(std::unique_ptr<Policy> policy, Recorded& recorded)
      : Policy(HashKind::kMixed), policy_(std::move(policy)), recorded_(recorded) {}
  void On(const PolicyEvent& event, const PoolState& pool, TimePoint now,
          ActionList& actions) override {
    if (const auto* ran = std::get_if<UnitFinished>(&event)) {
      const Unit& unit = pool.unit(ran->unit);
      recorded_.See(static_cast<std::size_t>(unit.service_class),
                    static_cast<double>(unit.expected) * 1e-9);
    }
    policy_->On(event, pool, now, actions);
  }
  StreamHome Home(StreamId stream, const PoolState& pool) override {
    return policy_->Home(stream, pool);
  }

 private:
  const std::unique_ptr<Policy> policy_;
  Recorded& recorded_;
};

struct Conditions {
  std::string policy, classes, topology;
  double from_s = 0;  // what was before is not recorded
};

Recorded RunAllTheTime(const Conditions& conditions, const UnitTimes& times) {
  Recorded recorded;
  const PolicyOptions options = ClassOptions(conditions.classes);
  ClassLoad load({.topology = conditions.topology,
                  .options = options,
                  .make_policy = [&](const PoolState& pool) -> std::unique_ptr<Policy> {
                    return std::make_unique<Watched>(
                        MakePolicy(conditions.policy, options, pool).value(), recorded);
                  }});
  load.pool.service_time = [&times](const Ticket& ticket) {
    const UnitId unit = ticket.report.unit;
    return times.of(unit.stream.value % 3, unit.index.value);
  };
  const auto refill = load.pool.on_run;
  load.pool.on_run = [&](const JobReport& report) {
    const std::size_t c = report.unit.stream.value % 3;
    recorded.runs.push_back({c, report.started, report.finished});
    recorded.See(c, ToSeconds(report.finished - report.started));
    refill(report);
  };
  for (std::uint64_t c = 0; c < 3; ++c) load.Start(c);
  load.Run(conditions.from_s);
  if (conditions.from_s > 0) recorded = {};
  const TimePoint end = load.pool.now() + std::chrono::seconds(20);
  bool all_wait = true;
  while (load.pool.now() < end && load.pool.FinishNext()) {
    for (int c = 0; c < 3; ++c) all_wait &= load.pool.pool().class_state(c).waiting_units > 0;
  }
  EXPECT_TRUE(all_wait) << "the guarantee is for those alone";
  recorded.end = load.pool.now();
  load.active = {};
  load.pool.FinishAll();  // so that what ran at the end is recorded too
  recorded.workers = load.pool.worker_count();
  for (std::size_t c = 0; c < 3; ++c) recorded.weights[c] = load.pool.pool().classes()[c].weight;
  return recorded;
}

void ExpectFairWindows(const Recorded& recorded, const std::string& what) {
  const auto& [runs, longest, weights, end, workers] = recorded;
  for (const auto& [i, j] : {std::pair<std::size_t, std::size_t>(0, 1), {0, 2}, {1, 2}}) {
    const double bound = workers * (longest[i] / weights[i] + longest[j] / weights[j]);
    const double worst = WorstWindow(runs, {i, j}, {weights[i], weights[j]}, end);
    EXPECT_LE(worst, bound * (1 + 1e-9)) << what << ", classes " << i << " and " << j;
  }
}

// From the first unit on, when nothing was learned, and when predictions are as good as they get.
class WindowSharesTest : public testing::TestWithParam<std::tuple<std::string, double>> {};
INSTANTIATE_TEST_SUITE_P(Policies, WindowSharesTest,
                         testing::Combine(testing::Values("ps-hrw", "gps-hrw"),
                                          testing::Values(0.0, 60.0)));

TEST_P(WindowSharesTest, ClassesDifferByOneUnitOfEachPerWorkerInAnyWindow) {
  for (const char* classes : {"a:1,b:1,c:1", "gold:5,silver:3,bronze:1", "a:100,b:10,c:1"}) {
    for (const char* topology : {"pu:1", "pu:2", "pack:2 core:4 pu:1"}) {
      for (const UnitTimes& times : kUnitTimes) {
        const auto& [policy, from_s] = GetParam();
        const std::string what = std::string(classes) + ", " + topology + ", units " + times.name;
        ExpectFairWindows(RunAllTheTime({policy, classes, topology, from_s}, times), what);
      }
    }
  }
}

}  // namespace
}  // namespace gopmill
