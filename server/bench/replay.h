// SPDX-License-Identifier: Apache-2.0
//
// A recorded trace on real worker threads: units are submitted at their recorded times (open loop,
// like the simulator does), and each job burns the CPU time that its unit took, cold if its
// worker does not hold the unit's contexts. No media, no codecs.
//
// Thread-safety: one run at a time per process (usage is the process's).
#pragma once

#include <cstdint>
#include <list>
#include <stop_token>
#include <string>
#include <vector>

#include "base/status.h"
#include "scheduler/sim/trace.h"
#include "server/bench/run_record.h"

namespace gopmill::bench {

struct ReplayUnit {
  JobSpec spec;  // deadline relative to TimePoint{}
  Duration arrival{}, hot{}, cold{};
};

// In order of arrival, on a clock that starts with the first one: the time that a server waited for
// its first request is not waited for again. Where only one of the two times was recorded, the
// other one follows from the median opening cost of the units that tell both (0 if none do).
// Units get the class of their name; without `classes` all are of one. kInvalidArgument naming
// "classes" when the trace has one that is not among them.
Result<std::vector<ReplayUnit>> ReplayUnits(const RecordedTrace& trace,
                                            const std::vector<ServiceClass>& classes = {});

struct ReplayOptions {
  std::string policy;
  int workers = 0;              // 0 = one per CPU
  int run_queue_units = 2;      // 0 = without bound
  int contexts_per_worker = 8;  // least recently used goes first
  std::string rules = {};       // forms of the policies' rules (policy_options_text.h)
  std::vector<ServiceClass> classes = {};
};
// kCancelled when `stop` was asked for.
Result<RunRecord> RunReplay(const ReplayOptions& options, const std::vector<ReplayUnit>& units,
                            const std::stop_token& stop);

// What a worker keeps warm.
class WarmContexts : public WorkerLocal {
 public:
  explicit WarmContexts(std::size_t capacity) : capacity_(capacity) {}
  // True if it was warm; warm in any case afterwards.
  bool Touch(std::uint64_t context);

 private:
  const std::size_t capacity_;
  std::list<std::uint64_t> contexts_;  // most recently used first
};

}  // namespace gopmill::bench
