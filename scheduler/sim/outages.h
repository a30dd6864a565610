// SPDX-License-Identifier: Apache-2.0
//
// Workers that are out of service for a while: what a policy makes of it is what rendezvous hashes
// promise most for. A worker that leaves ends the unit it runs; what waits behind it goes to
// others. Its contexts stay as they are and are warm when it comes back: the PU was taken, not the
// process ended.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace gopmill::sim {

struct WorkerChange {
  double at_ms = 0;
  int worker = 0;
  bool available = false;  // from then on
};

// "3@2.5:6,0@4": worker 3 is out from 2.5 s to 6 s, worker 0 from 4 s on. Ascending by time, at
// equal times who comes back before who goes; none for an empty text. kInvalidArgument ("outages")
// for what is malformed, ends before it begins, or has one worker out twice at once.
Result<std::vector<WorkerChange>> ParseOutages(const std::string& text);

// Whether such a machine can do work to the end: all workers are there, and one stays.
Status CheckOutages(const std::vector<WorkerChange>& changes, int workers);

}  // namespace gopmill::sim
