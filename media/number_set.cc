// SPDX-License-Identifier: Apache-2.0
#include "media/number_set.h"

#include <bit>

namespace gopmill {
namespace {

constexpr std::size_t kWordBits = 64;

std::uint64_t BitOf(std::size_t number) { return std::uint64_t{1} << (number % kWordBits); }

std::size_t Lowest(std::uint64_t word) { return static_cast<std::size_t>(std::countr_zero(word)); }

std::size_t Highest(std::uint64_t word) {
  return kWordBits - 1 - static_cast<std::size_t>(std::countl_zero(word));
}

}  // namespace

NumberSet::NumberSet(std::size_t limit) {
  do {
    limit = limit / kWordBits + 1;  // room for the limit itself, of which is asked as well
    levels_.emplace_back(limit);
  } while (limit > 1);
}

void NumberSet::Insert(std::size_t number) {
  for (std::vector<std::uint64_t>& level : levels_) {
    level[number / kWordBits] |= BitOf(number);
    number /= kWordBits;
  }
}

void NumberSet::Erase(std::size_t number) {
  for (std::vector<std::uint64_t>& level : levels_) {
    std::uint64_t& word = level[number / kWordBits];
    word &= ~BitOf(number);
    if (word != 0) return;
    number /= kWordBits;
  }
}

std::optional<std::size_t> NumberSet::Before(std::size_t number) const {
  for (std::size_t k = 0; k < levels_.size(); ++k, number /= kWordBits) {
    const std::size_t at = number / kWordBits;
    const std::uint64_t below = levels_[k][at] & (BitOf(number) - 1);
    if (below == 0) continue;
    std::size_t found = at * kWordBits + Highest(below);
    while (k-- > 0) found = found * kWordBits + Highest(levels_[k][found]);
    return found;
  }
  return std::nullopt;
}

std::optional<std::size_t> NumberSet::After(std::size_t number) const {
  for (std::size_t k = 0; k < levels_.size(); ++k, number /= kWordBits) {
    const std::size_t at = number / kWordBits;
    const std::uint64_t to_here = BitOf(number) | (BitOf(number) - 1);
    const std::uint64_t above = levels_[k][at] & ~to_here;
    if (above == 0) continue;
    std::size_t found = at * kWordBits + Lowest(above);
    while (k-- > 0) found = found * kWordBits + Lowest(levels_[k][found]);
    return found;
  }
  return std::nullopt;
}

}  // namespace gopmill
