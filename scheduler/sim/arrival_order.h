// SPDX-License-Identifier: Apache-2.0
//
// The arrivals of a workload in the order of time, equal ones in that of the workload: under an
// open feed every unit; under a closed one the streams that do not begin at once.
//
// Thread-safety: compatible.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "scheduler/sim/workload.h"

namespace gopmill::sim {

class ArrivalOrder {
 public:
  explicit ArrivalOrder(const Workload& workload) {
    for (std::uint32_t s = 0; s < workload.streams.size(); ++s) {
      const SimStream& stream = workload.streams[s];
      if (workload.feed == Feed::kClosed) {
        if (stream.begin_ms > 0) order_.push_back({stream.begin_ms, s, 0});
        continue;
      }
      for (std::uint32_t i = 0; i < stream.unit_count; ++i) {
        order_.push_back({workload.units[stream.first_unit + i].arrival_ms, s, i});
      }
    }
    std::ranges::stable_sort(order_, {}, &Arrival::at_ms);
  }
  struct Arrival {
    double at_ms = 0;
    std::uint32_t stream = 0;
    std::uint32_t index = 0;
  };
  [[nodiscard]] const Arrival* Peek() const {
    return next_ < order_.size() ? &order_[next_] : nullptr;
  }
  void Pop() { ++next_; }

 private:
  std::vector<Arrival> order_;
  std::size_t next_ = 0;
};

}  // namespace gopmill::sim
