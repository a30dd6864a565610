// SPDX-License-Identifier: Apache-2.0
//
// The table of the registry says which options each rule reads; here it is held to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/words.h"
#include "scheduler/policy_options_text.h"
#include "scheduler/policy_registry.h"
#include "scheduler/sim/sweep.h"

namespace gopmill::sim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// An uneven machine, classes, and enough streams for queues, some of which come when times are
// known.
Experiment Crowded() {
  Experiment experiment;
  experiment.topology = "pack:2 l2:2 core:2 pu:1";
  experiment.workers = 5;
  experiment.streams = 30;
  experiment.concurrent = 15;
  experiment.gops = 20;
  experiment.classes = "gold:5,silver:3,bronze:1";
  return experiment;
}

// What runs with these rules came to: two, so that one figure that is the same by chance does not
// hide what was read.
std::vector<double> FiguresOf(const std::string& policy, const std::string& rules) {
  std::vector<double> figures;
  for (const std::uint64_t seed : {1U, 2U}) {
    Experiment experiment = Crowded();
    experiment.rules = rules;
    experiment.seed = seed;
    auto prepared = Prepare(experiment);
    if (!prepared.ok()) return {};
    prepared->params.policy = policy;
    const auto result = Simulate(prepared->params, prepared->machine, prepared->workload);
    if (!result.ok()) return {};
    const std::vector<double>& busy = result->worker_utilisation;
    figures.insert(figures.end(), busy.begin(), busy.end());
    figures.insert(figures.end(), {result->disruption, result->mean_latency_ms, result->p50_ms});
  }
  return figures;
}

class RulesTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Registry, RulesTest, testing::ValuesIn(ParsePolicyNames("all").value()),
                         [](const auto& policy) {
                           std::string name = policy.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(RulesTest, ReadTheOptionsThatTheRegistrySays) {
  const auto policies = Policies();
  const auto entry = std::ranges::find(policies, GetParam(), &PolicyEntry::name);
  // Some are only read beside others: a factor common to all candidates changes nothing.
  const std::vector<std::string> forms = {"", "minimum=non-zero,", "share=one-level,"};
  std::vector<std::vector<double>> figures;
  for (const std::string& form : forms) figures.push_back(FiguresOf(GetParam(), form));
  for (const std::string rule :
       {"hash=printed", "minimum=non-zero", "weight=printed", "running=not-counted",
        "children=equal", "measure=predicted", "parent=all-idle", "node-ids=per-level", "home=flat",
        "share=one-level", "sets=repeated", "beta=9"}) {
    const std::string option = rule.substr(0, rule.find('='));
    bool is_read = false;
    for (std::size_t i = 0; i < forms.size(); ++i) {
      if (forms[i].starts_with(option)) continue;
      const std::vector<double> others = FiguresOf(GetParam(), forms[i] + rule);
      ASSERT_FALSE(others.empty()) << forms[i] + rule;
      is_read = is_read || others != figures[i];
    }
    EXPECT_EQ(is_read, std::ranges::count(Words(entry->options), option) > 0) << rule;
  }
}

TEST(RulesGridTest, OptionsThatNobodyReadsAreRefused) {
  const auto refusal = [](const char* rules, const std::vector<std::string>& policies) {
    GridPoint point{.experiment = Crowded(), .settings = {}};
    point.experiment.rules = rules;
    const auto runs = RunGrid({point}, policies, 1, {});
    return runs.ok() ? "run" : runs.error().ToString();
  };
  EXPECT_THAT(refusal("minimum=non-zero", {"fifo", "rr"}),
              AllOf(HasSubstr("\"minimum\""), HasSubstr("scheduler-options"),
                    HasSubstr("minimum with h-cahrw, ca-ahrw")));
  EXPECT_THAT(refusal("hash=printed,share=one-level", {"h-cahrw"}), HasSubstr("\"share\""));
  EXPECT_EQ(refusal("minimum=non-zero", {"fifo", "ahrw"}), "run") << "one is enough";
  EXPECT_EQ(refusal("ratios=e5335", {"fifo"}), "run") << "also what moving costs";
  EXPECT_THAT(refusal("speed=fast", {"fifo"}), HasSubstr("known name"));
}

}  // namespace
}  // namespace gopmill::sim
