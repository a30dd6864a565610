// SPDX-License-Identifier: Apache-2.0
#include "server/bench/idle_waiting.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <tuple>
#include <utility>

namespace gopmill::bench {
namespace {

enum class Change { kWaitEnds, kIdleEnds, kIdleBegins, kWaitBegins };

struct Event {
  TimePoint time;
  Change change;
  TimePoint eligible;  // of the unit, for the two about waiting
};

void AddIdle(TimePoint from, TimePoint to, std::vector<Event>& events) {
  if (from >= to) return;
  events.push_back({from, Change::kIdleBegins, {}});
  events.push_back({to, Change::kIdleEnds, {}});
}

class Sweep {
 public:
  void Take(const Event& event) {
    if (idle_ > 0 && !waiting_.empty()) found_.total += event.time - last_;
    last_ = event.time;
    switch (event.change) {
      case Change::kWaitBegins: waiting_.insert(event.eligible); break;
      case Change::kWaitEnds:
        if (idle_ > 0) EndEvent(event.eligible, event.time);
        waiting_.erase(waiting_.find(event.eligible));
        break;
      case Change::kIdleBegins:
        if (idle_++ == 0) idle_since_ = event.time;
        break;
      case Change::kIdleEnds:
        // One event for all who wait, as long as that of the one who has waited longest.
        if (--idle_ == 0 && !waiting_.empty()) EndEvent(*waiting_.begin(), event.time);
        break;
    }
  }
  [[nodiscard]] IdleWaiting Found() {
    AddTooLong();
    return found_;
  }

 private:
  void EndEvent(TimePoint eligible, TimePoint end) {
    const TimePoint begin = std::max(eligible, idle_since_);
    found_.longest = std::max(found_.longest, end - begin);
    if (end - begin > kIdleWaitingLimit) too_long_.emplace_back(begin, end);
  }

  // Many units wait beside the same idle worker: that is one event, and time passes once.
  void AddTooLong() {
    std::ranges::sort(too_long_);
    TimePoint counted_until = TimePoint::min();
    for (const auto& [begin, end] : too_long_) {
      if (begin >= counted_until) ++found_.too_long;
      if (end <= counted_until) continue;
      found_.too_long_total += end - std::max(begin, counted_until);
      counted_until = end;
    }
  }

  IdleWaiting found_;
  std::vector<std::pair<TimePoint, TimePoint>> too_long_;
  std::multiset<TimePoint> waiting_;  // eligible times
  int idle_ = 0;
  TimePoint idle_since_, last_;
};

}  // namespace

IdleWaiting FindIdleWaiting(std::vector<WorkedUnit> units, int workers, TimePoint begin,
                            TimePoint end) {
  std::sort(units.begin(), units.end(), [](const WorkedUnit& a, const WorkedUnit& b) {
    return std::tie(a.worker, a.started) < std::tie(b.worker, b.started);
  });
  std::vector<TimePoint> free_since(static_cast<std::size_t>(workers), begin);
  std::vector<Event> events;
  Duration wake_up{}, wake_up_longest{};
  for (const WorkedUnit& unit : units) {
    TimePoint& free = free_since[static_cast<std::size_t>(unit.worker)];
    const TimePoint bound = std::min(std::max(unit.assigned, free), unit.started);
    AddIdle(free, bound, events);
    wake_up += unit.started - bound;
    wake_up_longest = std::max(wake_up_longest, unit.started - bound);
    if (unit.eligible < bound) {
      events.push_back({unit.eligible, Change::kWaitBegins, unit.eligible});
      events.push_back({bound, Change::kWaitEnds, unit.eligible});
    }
    free = unit.finished;
  }
  for (const TimePoint free : free_since) AddIdle(free, end, events);
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::tie(a.time, a.change) < std::tie(b.time, b.change);
  });
  Sweep sweep;
  for (const Event& event : events) sweep.Take(event);
  IdleWaiting found = sweep.Found();
  found.wake_up = wake_up;
  found.wake_up_longest = wake_up_longest;
  return found;
}

}  // namespace gopmill::bench
