// SPDX-License-Identifier: Apache-2.0
#include "server/bench/served_shares.h"

#include <algorithm>
#include <cstddef>

namespace gopmill::bench {
namespace {

struct Change {
  TimePoint time;
  std::size_t service_class;
  int waiting, running;  // by how much they change
};

}  // namespace

ServedShares FindShares(const std::vector<ServedUnit>& units, std::size_t classes) {
  ServedShares found{.backlogged = {}, .shares = std::vector<double>(classes)};
  if (classes == 0) return found;
  std::vector<Change> changes;
  for (const ServedUnit& unit : units) {
    const std::size_t c = std::min(unit.service_class, classes - 1);
    changes.push_back({unit.submitted, c, 1, 0});
    changes.push_back({unit.started, c, -1, 1});
    changes.push_back({unit.finished, c, 0, -1});
  }
  std::ranges::sort(changes, {}, &Change::time);
  std::vector<int> waiting(classes), running(classes);
  std::vector<Duration> served(classes);
  Duration all{};
  TimePoint last;
  for (const Change& change : changes) {
    if (std::ranges::all_of(waiting, [](int count) { return count > 0; })) {
      const Duration length = change.time - last;
      found.backlogged += length;
      for (std::size_t c = 0; c < classes; ++c) {
        served[c] += length * running[c];
        all += length * running[c];
      }
    }
    last = change.time;
    waiting[change.service_class] += change.waiting;
    running[change.service_class] += change.running;
  }
  for (std::size_t c = 0; c < classes && all.count() > 0; ++c) {
    found.shares[c] = ToSeconds(served[c]) / ToSeconds(all);
  }
  return found;
}

}  // namespace gopmill::bench
