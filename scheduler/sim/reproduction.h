// SPDX-License-Identifier: Apache-2.0
//
// Published claims about the policies, each beside what the simulator says. Every claim is run in
// two ways: with the short run queues of the server, where most is decided late, and with run
// queues without bound and every unit bound on arrival, as the publications describe it.
//
// Sources: D. Guo, "Multicore Scheduling for Network Applications Based on Highest Random Weight",
// UC Riverside, 2010 (throughput, misses, overhead, beta, order); D. Guo, L. N. Bhuyan, B. Liu, "An
// Efficient Parallelized L7-Filter Design for Multicore Servers", IEEE/ACM ToN 20(5), 2012 (l7).
//
// Thread-safety: safe (pure functions).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace gopmill::sim {

struct ClaimRow {
  std::string what;
  std::string published;
  std::string bounded;    // run queues of two units
  std::string unbounded;  // as published
};

struct Claim {
  std::string_view name;
  std::string_view description;
  Result<std::vector<ClaimRow>> (*run)() = nullptr;
};
std::span<const Claim> Claims();

// The claim of that name; an error that lists the names if there is none.
Result<std::vector<ClaimRow>> Reproduce(std::string_view claim);

std::string ClaimText(const Claim& claim, const std::vector<ClaimRow>& rows);

}  // namespace gopmill::sim
