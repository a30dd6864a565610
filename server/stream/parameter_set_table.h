// SPDX-License-Identifier: Apache-2.0
//
// Whether units that are put together have the same parameter sets. Those of one size must; a unit
// of another size, which a stream only has if it was ordered so (Effort::kHalfSize), has its own.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "codec/picture_geometry.h"

namespace gopmill {

class ParameterSetTable {
 public:
  // Whether these are the ones that the last unit of this size had, if there was one. From now on
  // they are that. An entry for each size that is ever given: the caller sees to it that these are
  // few.
  bool Note(Size size, std::uint64_t hash) {
    const auto [known, fresh] = hashes_.try_emplace({size.width, size.height}, hash);
    return fresh || std::exchange(known->second, hash) == hash;
  }

 private:
  std::map<std::pair<int, int>, std::uint64_t> hashes_;
};

}  // namespace gopmill
