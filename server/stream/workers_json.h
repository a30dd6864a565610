// SPDX-License-Identifier: Apache-2.0
//
// The machine with its load, for who watches it; documented in docs/API.md.
//
// Thread-safety: safe (pure function).
#pragma once

#include <span>
#include <string>

#include "scheduler/scheduler.h"

namespace gopmill {

struct MachineLoad {
  TimePoint begin, now;  // times are told as seconds since `begin`
  std::string policy;
  const Topology& topology;
  std::span<const ServiceClass> classes;
  SchedulerStats stats;  // with runs
};

std::string WorkersJson(const MachineLoad& load);

}  // namespace gopmill
