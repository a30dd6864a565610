// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/workload.h"

#include <numeric>

namespace gopmill::sim {

double Workload::HotMillis() const {
  return std::accumulate(units.begin(), units.end(), 0.0,
                         [](double sum, const SimUnit& unit) { return sum + unit.hot_ms; });
}

Duration ClassDeadline(const Workload& workload, const SimStream& stream) {
  if (!workload.due_by_class) return {};
  return workload.classes[static_cast<std::size_t>(stream.service_class)].deadline;
}

double ArrivalsPerSecond(const Workload& workload, double load, int workers) {
  const double mean_ms = workload.HotMillis() / static_cast<double>(workload.units.size());
  return load * workers * 1000 / mean_ms;
}

}  // namespace gopmill::sim
