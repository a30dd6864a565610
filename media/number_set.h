// SPDX-License-Identifier: Apache-2.0
//
// Whole numbers below a limit, in any order of coming and going, whose neighbours are found in one
// step for each factor of 64. It takes one bit for each number below the limit, and a little more.
//
// Thread-safety: none; owned by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace gopmill {

class NumberSet {
 public:
  explicit NumberSet(std::size_t limit);

  // Of numbers below the limit, also those that are in already, or are not.
  void Insert(std::size_t number);
  void Erase(std::size_t number);
  // The largest below, the smallest above; `number` may be the limit.
  [[nodiscard]] std::optional<std::size_t> Before(std::size_t number) const;
  [[nodiscard]] std::optional<std::size_t> After(std::size_t number) const;

 private:
  // A bit for each number; above that, one for each word below that is not 0.
  std::vector<std::vector<std::uint64_t>> levels_;
};

}  // namespace gopmill
