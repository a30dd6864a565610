// SPDX-License-Identifier: Apache-2.0
//
// The simulator against a real machine. tests/golden/real_machine holds what two cores of a quiet
// AMD EPYC did on 2026-11-25: the costs of the reference workload, recorded by
//   gopmill bench --duration 8 --scheduler fifo --repeat 1 --record reference.trace
// and the medians with their intervals of
//   gopmill bench --trace reference.trace --scheduler hearth,h-cahrw,fifo,rr,hrw --repeat 5
// Simulated is what a replay does: it spins for the recorded times, so nothing is lost to caches.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "scheduler/sim/sweep.h"
#include "scheduler/sim/trace.h"

namespace gopmill::sim {
namespace {

struct Measured {
  double median = 0, low = 0, high = 0;  // GOPs per second
};

std::map<std::string, Measured> MeasuredByPolicy() {
  std::ifstream file("tests/golden/real_machine/reference.csv");
  std::map<std::string, Measured> all;
  std::string line, policy;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::getline(fields, policy, ',');
    char comma = 0;
    Measured& measured = all[policy];
    fields >> measured.median >> comma >> measured.low >> comma >> measured.high;
  }
  return all;
}

std::map<std::string, double> Simulated(const std::map<std::string, Measured>& measured) {
  auto trace = ReadTraceFile("tests/golden/real_machine/reference.trace");
  if (!trace.ok()) return {};
  Experiment experiment;
  experiment.topology = "pu:2";
  experiment.workload = "trace";
  experiment.trace = std::make_shared<const RecordedTrace>(std::move(trace).value());
  experiment.contexts = 8;  // the server's cache holds all formats of the mix
  experiment.memory_share = 0;
  experiment.refill_ms = 0;
  std::vector<std::string> policies;
  for (const auto& [policy, figures] : measured) policies.push_back(policy);
  const auto runs = RunGrid({{.experiment = experiment, .settings = {}}}, policies, 1, {});
  if (!runs.ok()) return {};
  std::map<std::string, double> all;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    if ((*runs)[i].result) all[policies[i]] = (*runs)[i].result->gops_per_second;
  }
  return all;
}

TEST(RealMachineTest, ThroughputIsWithinFivePercentAndRankedAlike) {
  const auto measured = MeasuredByPolicy();
  ASSERT_EQ(measured.size(), 5U) << "run in the top folder of the sources";
  const auto simulated = Simulated(measured);
  ASSERT_EQ(simulated.size(), 5U);
  int ranked = 0;
  for (const auto& [policy, figures] : measured) {
    EXPECT_NEAR(simulated.at(policy), figures.median, 0.05 * figures.median) << policy;
    for (const auto& [other, slower] : measured) {
      if (figures.low <= slower.high) continue;
      ++ranked;
      EXPECT_GT(simulated.at(policy), simulated.at(other)) << policy << " is faster than " << other;
    }
  }
  EXPECT_GE(ranked, 3) << "intervals that do not overlap";
}

}  // namespace
}  // namespace gopmill::sim
