// SPDX-License-Identifier: Apache-2.0
//
// In which order the policies of a round run. A run leaves the machine in a state (clock, caches,
// memory) that the next one meets, so the orders of a number of rounds, BalancedRounds, are
// balanced: each policy runs in each place equally often, and right behind each other policy
// equally often (E. J. Williams, "Experimental designs balanced for the estimation of residual
// effects of treatments", Australian Journal of Scientific Research A 2, 1949). Which policy is
// which of the design, and the order of its rounds, are drawn anew for each such number of rounds.
// Nothing is balanced across the border between two rounds.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gopmill::bench {

// As many as there are policies, twice as many for an odd number of more than one.
int BalancedRounds(std::size_t policies);

// The policies of round `round`, from 0, in the order they run; a function of all three.
std::vector<std::string> RoundOrder(const std::vector<std::string>& policies, std::uint32_t seed,
                                    int round);

}  // namespace gopmill::bench
