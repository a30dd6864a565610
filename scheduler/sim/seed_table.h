// SPDX-License-Identifier: Apache-2.0
//
// Runs of several seeds as one table: what the seeds have in common, and how much they differ.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>
#include <vector>

#include "scheduler/sim/replication.h"
#include "scheduler/sim/report.h"

namespace gopmill::sim {

// One policy at one point, over the seeds of the group; `runs` point by point, policies in the same
// order at each. Not measured, or not served, with one of the seeds: an estimate of no values.
class SeedRuns {
 public:
  SeedRuns(const SeedGroup& group, const std::vector<GridRun>& runs, std::size_t policies);

  [[nodiscard]] Estimate Of(std::size_t policy, const Figure& figure) const;
  // The figure through that of the first policy, seed by seed: of the same work.
  [[nodiscard]] Estimate Ratio(std::size_t policy, const Figure& figure) const;
  // Why the policy could not serve the point; empty if it could.
  [[nodiscard]] std::string Failure(std::size_t policy) const;

 private:
  std::vector<std::vector<const GridRun*>> runs_;  // by policy, by seed
};

// A table for each point: a line per figure of the table, a column per policy.
std::string SeedTableText(const std::vector<SeedGroup>& groups, const std::vector<GridRun>& runs,
                          std::size_t policies);

}  // namespace gopmill::sim
