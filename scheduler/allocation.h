// SPDX-License-Identifier: Apache-2.0
//
// The allocation layers: rules that say which service class a worker serves next, and the policy
// that applies such a rule. Inside a class the unit that is due first goes first, to a worker with
// warm contexts if one is idle; a warm one goes before it, but not for ever. These are the
// baselines that PS-HRW is compared with; each rule is in its own file, policy_<name>.cc.
//
// Thread-safety: thread-affine to the dispatcher, as all policies.
#pragma once

#include <memory>
#include <span>

#include "scheduler/policy.h"

namespace gopmill {

class Allocation {
 public:
  virtual ~Allocation() = default;
  // The class that `w`, which has nothing to do, would serve now; -1 = it stays idle. Called when
  // there are units it might run; a class without waiting units is never started on. Asked of many
  // workers of which one begins, so it gives nobody away.
  virtual int ClassFor(WorkerId w, const PoolState& pool, TimePoint now) = 0;
  // `w` begins with that class, as ClassFor said. Before OnStarted, which comes in any case.
  virtual void OnServes(int /*service_class*/, WorkerId /*w*/, TimePoint /*now*/) {}
  // No worker but `w` serves the class, if any does: what failed there has to run on another's.
  [[nodiscard]] virtual bool IsAloneFor(int /*service_class*/, WorkerId /*w*/) const {
    return false;
  }
  // An idle worker that was given to another class since the last call, which it can begin with;
  // -1 = none was.
  virtual WorkerId TakeGiven() { return {}; }
  // The worker left or came back; the pool says which.
  virtual void OnWorkersChanged(WorkerId /*w*/, const PoolState& /*pool*/) {}
  // A unit of that class became the head of its line.
  virtual void OnArrived(int /*service_class*/, const PoolState& /*pool*/, TimePoint /*now*/) {}
  // A unit of that class was put on `w`.
  virtual void OnStarted(int /*service_class*/, WorkerId /*w*/, TimePoint /*now*/) {}
  // A run of that class ended.
  virtual void OnFinished(int /*service_class*/, WorkerId /*w*/, Duration /*busy*/,
                          const PoolState& /*pool*/, TimePoint /*now*/) {}
};

std::unique_ptr<Policy> MakeClassPolicy(const PolicyOptions& options,
                                        std::unique_ptr<Allocation> allocation);

// Units of the class that wait at the head of a line, at least one of which may run on `w`.
[[nodiscard]] bool HasUnitFor(int service_class, WorkerId w, const PoolState& pool);

// Each class's part of 1: the guaranteed shares, the rest divided by weight.
void FindShares(std::span<const ServiceClass> classes, std::span<double> shares);

}  // namespace gopmill
