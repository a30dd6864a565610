// SPDX-License-Identifier: Apache-2.0
//
// The common part of the policies of adaptive highest random weight: each unit goes to the worker
// that a choice over the queues of the moment names, and the choice is made again whenever a worker
// comes free (Rebinding::kOnEveryOffer). What they choose by is in flat_choice.h and tree_choice.h;
// which ratios they give it, in their own files.
//
// Thread-safety: as all policies (policy.h).
#pragma once

#include <memory>
#include <vector>

#include "scheduler/policy.h"
#include "scheduler/tree_choice.h"

namespace gopmill {

// Over all workers at once; homes are flat. `ratios`: of FlatChoice.
std::unique_ptr<Policy> MakeFlatPolicy(const PolicyOptions& options, const PoolState& pool,
                                       std::vector<double> ratios);
// Down the tree, homes too.
std::unique_ptr<Policy> MakeTreePolicy(const PolicyOptions& options, const PoolState& pool,
                                       Distances distances);

}  // namespace gopmill
