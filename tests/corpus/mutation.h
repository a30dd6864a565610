// SPDX-License-Identifier: Apache-2.0
//
// A movie with bytes changed, lost or doubled at random: what broken discs, cables and programs
// make. Headers are hit as often as all the rest.
//
// Thread-safety: compatible.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

namespace gopmill {

using Random = std::mt19937_64;

// 0 where the limit is.
std::size_t Below(Random& random, std::size_t limit);

// One to 24 changes of up to 4 KiB each; of one in eight the end is cut off.
std::vector<char> Mutant(const std::vector<char>& movie, Random& random);

}  // namespace gopmill
