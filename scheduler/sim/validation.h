// SPDX-License-Identifier: Apache-2.0
//
// The simulator against results that are known: published ones and closed forms of queueing theory.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace gopmill::sim {

struct ValidationRow {
  std::string what;
  std::string unit;
  double expected = 0;
  double simulated = 0;
  double tolerance = 0;  // allowed |simulated - expected|
  std::string basis;     // where the tolerance comes from
  [[nodiscard]] bool passed() const;
};

// Service times and capacities of protocol processing on 8 processors, within 3 %.
Result<std::vector<ValidationRow>> ValidateProtocolProcessing();
// Mean waiting times of M/D/1 and M/M/k, within the 99 % interval of ten independent runs.
Result<std::vector<ValidationRow>> ValidateQueueing();
// Shares of keys under CARP multipliers (scheduler/carp.h), within the sampling error.
std::vector<ValidationRow> ValidateCarp();
// All of them.
Result<std::vector<ValidationRow>> Validate();

std::string ValidationText(const std::vector<ValidationRow>& rows);

// Mean time in the queue, in service times: D. G. Kendall's notation, A. K. Erlang's formulas.
double WaitMD1(double load);
double WaitMMk(double load, int servers);

}  // namespace gopmill::sim
