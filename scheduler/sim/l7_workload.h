// SPDX-License-Identifier: Apache-2.0
//
// Deep packet inspection as a workload: connections of packets; each packet that arrives before its
// connection is known has the whole buffer collected so far matched again, at most eight times. A
// connection is a stream, a matching of its buffer a unit.
//
//     t = buffer bytes * cost per byte        the k-th packet of a connection: k packets' bytes
//
// Traces are drawn like three published ones (numbers of connections and mean lengths as printed;
// the disparity of lengths is printed in words only, the sigmas are ours).
// Source: D. Guo, L. N. Bhuyan, B. Liu, "An Efficient Parallelized L7-Filter Design for Multicore
// Servers", IEEE/ACM ToN 20(5), 2012.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstdint>
#include <string_view>

#include "scheduler/sim/workload.h"

namespace gopmill::sim {

struct L7Params {
  std::string_view trace = "tu";  // mit, tu, nyp
  int connections = 0;            // 0 = as many as the trace had
  std::uint64_t seed = 1;
};

// Open feed. Arrival times count packets, from 0; ScaleToLoad makes milliseconds of them.
Result<Workload> MakeL7Workload(const L7Params& params);

// Stretches the arrival times so that the work offered is `load` of what the workers can do.
void ScaleToLoad(Workload& workload, double load, int workers);

}  // namespace gopmill::sim
