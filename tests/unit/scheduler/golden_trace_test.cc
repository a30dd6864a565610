// SPDX-License-Identifier: Apache-2.0
//
// Decision traces under a virtual clock, compared with files in tests/golden/<scenario>/. A change
// of a policy shows as a diff of where units went. To accept it:
//     GOPMILL_UPDATE_GOLDEN=1 scheduler_test --gtest_filter='*GoldenTrace*'
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/scheduler/virtual_pool.h"

namespace gopmill {
namespace {

struct Scenario {
  const char* name;
  const char* topology;
  int streams;
  int units_per_stream;
  int window;  // units a stream keeps submitted and unreported
  unsigned failures_percent;
};

constexpr Scenario kScenarios[] = {
    {"scheduler_small_machine", "core:2 pu:1", 5, 12, 4, 0},
    {"scheduler_two_sockets", "pack:2 l2:2 core:2 pu:1", 12, 10, 4, 0},
    {"scheduler_failures", "pack:1 l3:2 core:3 pu:1", 6, 10, 3, 15},
};

struct GoldenCase {
  Scenario scenario;
  std::string policy;
};

std::vector<GoldenCase> AllCases() {
  std::vector<GoldenCase> cases;
  for (const Scenario& scenario : kScenarios) {
    for (const PolicyEntry& entry : Policies())
      cases.push_back({scenario, std::string(entry.name)});
  }
  return cases;
}

// One line per assignment and per run, in order:  <ms> <unit> -> w<worker> | <unit> done w<worker>
std::string Trace(const GoldenCase& golden) {
  const Scenario& scenario = golden.scenario;
  VirtualPool pool({.topology = scenario.topology, .policy = golden.policy});
  std::mt19937 random(11);
  std::ostringstream trace;
  const auto at = [&] { return fmt::format("{:8.3f}", ToMillis(pool.now().time_since_epoch())); };
  const auto name = [](UnitId u) { return fmt::format("s{}/u{}", u.stream.value, u.index.value); };
  std::vector<std::int64_t> next(static_cast<std::size_t>(scenario.streams), 0);
  const auto submit = [&](std::uint64_t stream) {
    if (next[stream] == scenario.units_per_stream) return;
    pool.Submit(stream, next[stream]++, 500 + random() % 4000);
  };
  pool.service_time = [](const Ticket& ticket) {
    // Streams differ in cost by a factor of four; microseconds only, so that no rounding shows.
    return std::chrono::microseconds(
        2000 * (1 + ticket.report.unit.stream.value % 4) +
        100 * static_cast<std::uint64_t>(ticket.report.unit.index.value));
  };
  pool.outcome = [&](const Ticket&) {
    return random() % 100 < scenario.failures_percent ? JobOutcome::kFailed : JobOutcome::kDone;
  };
  pool.on_assigned = [&](UnitId unit, WorkerId worker, WorkerId home) {
    trace << at() << " " << name(unit) << " -> w" << worker.value
          << (worker == home ? "" : fmt::format(" (home w{})", home.value)) << "\n";
  };
  pool.on_run = [&](const JobReport& report) {
    trace << at() << " " << name(report.unit)
          << (report.outcome == JobOutcome::kDone ? " done" : " failed") << " on w"
          << report.worker.value << "\n";
  };
  for (int round = 0; round < scenario.window; ++round) {
    for (std::uint64_t s = 0; s < next.size(); ++s) submit(s);
  }
  std::size_t seen = 0;
  while (pool.FinishNext()) {
    for (; seen < pool.reports().size(); ++seen) submit(pool.reports()[seen].unit.stream.value);
  }
  const SchedulerCounters& counters = pool.dispatcher().counters();
  trace << fmt::format("end {} assigned {} elsewhere {} retries {}\n", at(), counters.assigned,
                       counters.assigned_elsewhere, counters.retries);
  return trace.str();
}

class GoldenTraceTest : public testing::TestWithParam<GoldenCase> {};
INSTANTIATE_TEST_SUITE_P(Scenarios, GoldenTraceTest, testing::ValuesIn(AllCases()),
                         [](const auto& test) {
                           std::string name = test.param.scenario.name + ("_" + test.param.policy);
                           std::erase(name, '-');
                           return name;
                         });

TEST_P(GoldenTraceTest, IsAsRecorded) {
  const std::filesystem::path file = std::filesystem::path("tests/golden") /
                                     GetParam().scenario.name / (GetParam().policy + ".txt");
  const std::string trace = Trace(GetParam());
  if (std::getenv("GOPMILL_UPDATE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << trace;
    return;
  }
  std::ifstream stream(file);
  ASSERT_TRUE(stream) << file << " is missing (run in the top folder of the sources)";
  std::stringstream recorded;
  recorded << stream.rdbuf();
  EXPECT_EQ(trace, recorded.str())
      << "If the change is meant: GOPMILL_UPDATE_GOLDEN=1 scheduler_test --gtest_filter='*Golden*'";
}

}  // namespace
}  // namespace gopmill
