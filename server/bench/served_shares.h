// SPDX-License-Identifier: Apache-2.0
//
// What share of the workers' time each service class got while all classes wanted some: the
// definition of fairness among continuously backlogged classes (as in generalised processor
// sharing, A. K. Parekh, R. G. Gallager, IEEE/ACM ToN 1(3), 1993).
//
// Thread-safety: safe (pure function).
#pragma once

#include <span>
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

inline constexpr Duration kShareWindow = std::chrono::seconds(10);

struct ShareWindows {
  std::size_t windows = 0;  // looked at: one begins every kShareStep while all are backlogged
  double worst = 0;         // greatest distance of a class's share from its due one in any of them
  // The longest unit as a part of a window's worker time: shares cannot be exacter than that.
  double one_unit = 0;
};

// The same in windows of kShareWindow in which all classes were backlogged from end to end. `due`
// has one share per class.
ShareWindows FindShareWindows(const std::vector<ServedUnit>& units, std::span<const double> due);

// A class is backlogged while a unit of it is submitted and not begun. Units of classes from
// `classes` on count as the last one.
ServedShares FindShares(const std::vector<ServedUnit>& units, std::size_t classes);

}  // namespace gopmill::bench
