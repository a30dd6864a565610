// SPDX-License-Identifier: Apache-2.0
//
// Deep packet inspection as a workload: connections of packets; each packet that arrives before its
// connection is known has the whole buffer collected so far matched again, at most eight times. A
// connection is a stream, a matching of its buffer a unit.
//
//     t = buffer bytes * 50 ns        the k-th packet of a connection: k packets' bytes
//
// Traces are drawn like three published ones: numbers of connections and mean lengths as printed
// (40,000 of 8.5 packets, 110,000 of 12, 61,000 of 9.6), at most eight matchings. Ours are the
// sigmas of the lognormal lengths (1.2, 1.6, 0.8: the disparity is printed in words only), the
// probability that a matching tells the protocol (a quarter), the bytes of a packet (lognormal,
// mean 840 before the limits of 40 and 1,500, sigma 0.6) and the time per byte.
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

// Open feed; made closed, all connections are there at once. Arrival times count packets, from 0;
// ScaleToLoad makes milliseconds of them.
Result<Workload> MakeL7Workload(const L7Params& params);

// The mean length of so many connections drawn as for a workload: what is published of the trace.
double MeanPackets(std::string_view trace, int connections, std::uint64_t seed);

// Stretches the arrival times so that the work offered is `load` of what the workers can do.
void ScaleToLoad(Workload& workload, double load, int workers);

}  // namespace gopmill::sim
