// SPDX-License-Identifier: Apache-2.0
//
// What share of the workers' time each service class got while all classes wanted some: the
// definition of fairness among continuously backlogged classes (as in generalised processor
// sharing, A. K. Parekh, R. G. Gallager, IEEE/ACM ToN 1(3), 1993).
//
// Thread-safety: safe (pure function).
#pragma once

#include <vector>

#include "base/clock.h"

namespace gopmill::bench {

struct ServedUnit {
  std::size_t service_class = 0;
  TimePoint submitted, started, finished;
};

struct ServedShares {
  Duration backlogged{};       // all classes had units waiting
  std::vector<double> shares;  // of the time workers spent inside units meanwhile, by class
};

// A class is backlogged while a unit of it is submitted and not begun. Units of classes from
// `classes` on count as the last one.
ServedShares FindShares(const std::vector<ServedUnit>& units, std::size_t classes);

}  // namespace gopmill::bench
