// SPDX-License-Identifier: Apache-2.0
//
// The proportional-share layer: PS-HRW over h-cahrw, GPS-HRW over plain hrw.
//
// Two levels. Cores are shared among the classes that have units by weight alone, but none gets
// less than its guarantee or more than its maximum (EffectiveWeights), so that a class that floods
// gains nothing; inside a class they are shared among its streams by waiting bytes:
//
//     g_s = r * w_c / (sum of w over backlogged classes) * phi_s / phi_c      in workers
//
// r = workers, w_c = effective weight of the class, phi = waiting bytes. Each stream gets a set of
// workers of that size (stream_cores.h), made anew when g changed by more than beta. The sets say
// *where*; as they overlap they cannot enforce shares, so *when* is decided by start-time fair
// queueing of measured worker time (fair_queue.h): a free worker serves the class with the smallest
// tag (one at its maximum last), and in that class, by deadline, the first unit that has this
// worker in its set, or just the first: shares that are not used are lent, and end with the unit.
//
// Printed form (ShareRule::kOneLevel): no classes, g_s = r * phi_s / (sum of phi); units go to the
// workers of their set and to no other. How sets are drawn is a rule of its own (SetRule).
// Source: D. Guo, "Multicore Scheduling for Network Applications Based on Highest Random Weight",
// UC Riverside, 2010, PS-HRW and GPS-HRW; the split into two levels and the queueing are ours.
//
// Cost: O(classes + kMaxOffers * set) per decision, and a new set now and then.
//
// Thread-safety: thread-affine to the dispatcher, as all policies.
#pragma once

#include <memory>

#include "scheduler/policy.h"
#include "scheduler/stream_cores.h"

namespace gopmill {

std::unique_ptr<Policy> MakeSharePolicy(StreamCores::Base base, const PolicyOptions& options,
                                        const PoolState& pool);

}  // namespace gopmill
