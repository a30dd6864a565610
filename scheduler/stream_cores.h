// SPDX-License-Identifier: Apache-2.0
//
// Which cores PS-HRW gives to a stream: the sets of its integral and residual part.
//
// A stream with share g of the machine (in workers) gets floor(g) workers by repeated choice of the
// base policy, each outside the ones it already has, and one more for the rest  f = g - floor(g),
// on which the fraction  f / g  of its units is at home. With g < 1 that one is all it has. With g
// of kMaxStreamCores or more it may run anywhere.
//
// Corrected against the publication, where nothing excludes the workers of the set: the same choice
// repeated returns the same worker, so that the integral part is one worker at most, and the choice
// for the rest may return a worker of the set, which loses the residue. The best worker outside the
// set is taken, and f = 0 skips the step (p_1 = 0 would make the recursion of the multipliers
// divide by zero). The printed form (SetRule::kRepeated) draws the last one by multipliers over all
// workers, capacities 1/N' for the set and f/N' for the others, N' = |set| + (N - |set|) f.
// Source: D. Guo, "Multicore Scheduling for Network Applications Based on Highest Random Weight",
// UC Riverside, 2010, PS-HRW, table 7.1.
//
// Thread-safety: compatible (holds scratch space).
#pragma once

#include <array>
#include <vector>

#include "scheduler/carp.h"
#include "scheduler/stream_table.h"
#include "scheduler/tree_choice.h"

namespace gopmill {

// A stream with a larger share may run anywhere: nobody keeps so many units of one stream waiting.
inline constexpr int kMaxStreamCores = 32;

struct CoreSet {
  double share = -1;        // g when the set was made; -1 = never made
  double fraction = 0;      // part of the units that belong on the last worker
  int count = 0;            // workers in the set, the residual one included
  bool everywhere = false;  // all workers: the share is larger than kMaxStreamCores
  bool residual = false;    // the last one is the residual one
  std::array<std::int32_t, kMaxStreamCores> workers = {};

  [[nodiscard]] bool Holds(WorkerId w) const {
    const auto* const end = workers.begin() + count;
    return everywhere || std::find(workers.begin(), end, w.value) != end;
  }
};

class StreamCores {
 public:
  enum class Base { kHCahrw, kHrw };
  StreamCores(Base base, const PolicyOptions& options, const PoolState& pool);

  // The stream's set, made anew if its share changed by more than beta of itself, or workers left.
  const CoreSet& Of(const Unit& unit, double share, const PoolState& pool);
  // The stream's home in the base policy.
  [[nodiscard]] StreamHome Home(StreamId stream, const PoolState& pool) const;
  // All sets are made anew when they are next asked for.
  void Forget() { ++epoch_; }

 private:
  struct Entry {
    CoreSet set;
    std::uint64_t epoch = 0;
  };
  void Make(CoreSet& set, const Unit& unit, double share, const PoolState& pool);
  [[nodiscard]] WorkerId Next(const CoreSet& set, const Unit& unit, const PoolState& pool);
  [[nodiscard]] WorkerId ByMultipliers(const CoreSet& set, const Unit& unit, const PoolState& pool);

  const Base base_;
  const PolicyOptions options_;
  TreeChoice choice_;
  ExclusionSet excluded_;
  StreamTable<Entry> streams_{1024};
  std::uint64_t epoch_ = 1;
  CarpMultipliers multipliers_;
  std::vector<double> capacities_;  // scratch
};

}  // namespace gopmill
