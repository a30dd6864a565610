// SPDX-License-Identifier: Apache-2.0
#include "server/bench/served_shares.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace gopmill::bench {
namespace {

constexpr Duration kShareStep = std::chrono::milliseconds(200);

struct ClassChange {
  TimePoint time;
  std::size_t service_class;
  int waiting, running;  // by how much they change
};

std::vector<ClassChange> ChangesOf(const std::vector<ServedUnit>& units, std::size_t classes) {
  std::vector<ClassChange> changes;
  for (const ServedUnit& unit : units) {
    const std::size_t c = std::min(unit.service_class, classes - 1);
    changes.push_back({unit.submitted, c, 1, 0});
    changes.push_back({unit.started, c, -1, 1});
    changes.push_back({unit.finished, c, 0, -1});
  }
  std::ranges::sort(changes, {}, &ClassChange::time);
  return changes;
}

// A time until which nothing changes, since the one before: worker time of each class so far.
struct Point {
  TimePoint time;
  std::vector<double> served;  // seconds
};

// Stretches in which all classes were backlogged, each from its begin to its end.
std::vector<std::vector<Point>> Stretches(const std::vector<ServedUnit>& units,
                                          std::size_t classes) {
  std::vector<std::vector<Point>> stretches;
  std::vector<int> waiting(classes), running(classes);
  std::vector<double> served(classes);
  bool inside = false;
  TimePoint last;
  for (const ClassChange& change : ChangesOf(units, classes)) {
    for (std::size_t c = 0; c < classes && inside; ++c) {
      served[c] += ToSeconds(change.time - last) * running[c];
    }
    if (inside) stretches.back().push_back({change.time, served});
    last = change.time;
    waiting[change.service_class] += change.waiting;
    running[change.service_class] += change.running;
    const bool all = std::ranges::all_of(waiting, [](int count) { return count > 0; });
    if (all && !inside) stretches.push_back({{change.time, served}});
    inside = all;
  }
  return stretches;
}

// What was served until `time`, which lies inside the stretch; served grows evenly between points.
std::vector<double> ServedUntil(const std::vector<Point>& stretch, TimePoint time) {
  const auto after = std::ranges::lower_bound(stretch, time, {}, &Point::time);
  if (after == stretch.begin() || after->time == time) return after->served;
  const Point& before = *(after - 1);
  const double part = ToSeconds(time - before.time) / ToSeconds(after->time - before.time);
  std::vector<double> served = before.served;
  for (std::size_t c = 0; c < served.size(); ++c) {
    served[c] += part * (after->served[c] - before.served[c]);
  }
  return served;
}

// What each class was served in the window that begins there.
std::vector<double> ServedWithin(const std::vector<Point>& stretch, TimePoint begin) {
  const std::vector<double> before = ServedUntil(stretch, begin);
  std::vector<double> served = ServedUntil(stretch, begin + kShareWindow);
  for (std::size_t c = 0; c < served.size(); ++c) served[c] -= before[c];
  return served;
}

}  // namespace

ServedShares FindShares(const std::vector<ServedUnit>& units, std::size_t classes) {
  ServedShares found{.backlogged = {}, .shares = std::vector<double>(classes)};
  if (classes == 0) return found;
  double all = 0;
  for (const std::vector<Point>& stretch : Stretches(units, classes)) {
    const Point &begin = stretch.front(), &end = stretch.back();
    found.backlogged += end.time - begin.time;
    for (std::size_t c = 0; c < classes; ++c) {
      found.shares[c] += end.served[c] - begin.served[c];
      all += end.served[c] - begin.served[c];
    }
  }
  for (double& share : found.shares) share = all > 0 ? share / all : 0;
  return found;
}

ShareWindows FindShareWindows(const std::vector<ServedUnit>& units, std::span<const double> due) {
  ShareWindows found;
  if (due.empty()) return found;
  double longest = 0;
  for (const ServedUnit& unit : units) {
    longest = std::max(longest, ToSeconds(unit.finished - unit.started));
  }
  for (const std::vector<Point>& stretch : Stretches(units, due.size())) {
    for (TimePoint begin = stretch.front().time; begin + kShareWindow <= stretch.back().time;
         begin += kShareStep) {
      const std::vector<double> served = ServedWithin(stretch, begin);
      const double all = std::accumulate(served.begin(), served.end(), 0.0);
      if (all <= 0) continue;
      ++found.windows;
      found.one_unit = std::max(found.one_unit, longest / all);
      for (std::size_t c = 0; c < due.size(); ++c) {
        found.worst = std::max(found.worst, std::abs(served[c] / all - due[c]));
      }
    }
  }
  return found;
}

}  // namespace gopmill::bench
