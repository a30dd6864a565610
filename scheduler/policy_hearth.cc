// SPDX-License-Identifier: Apache-2.0
//
// hearth: gopmill's own policy. A shared queue in which every stream has a worker where it is warm.
//
// Each stream has a *hearth*: the worker that ran its last unit, and so still has its codec
// contexts open and its pictures in cache; before the first unit, its home (the descent of h-cahrw
// with empty queues). A unit waits for its hearth and for anyone else:
//
//   it arrives   its hearth is idle:  there.
//                others are idle:     the nearest of them in the topology.
//                nobody is idle:      it waits at its hearth.
//   w is free    the oldest unit that would not be done before its stream's running unit is
//   `first`:
//                one that would gains nothing by it. Of the units that came at most `patience`
//                after `first`: the oldest one for which w is warm (of the oldest few where many
//                streams share a context); else the oldest one whose hearth is w (of the oldest
//                few of those); else, of the oldest few, whichever costs
//                least on w:
//                    opening its contexts, if they are cold there
//                  + (c - 1) * memory share * run time, c: ratio between its hearth and w
//                  + the time by which it would overtake its stream's running unit,
//                    max(0, (1 + kMargin) * time left of that - run time).
//                The first two do not take a unit that would overtake. While units with a deadline
//                wait (live streams), only they count, and the one due first is the oldest.
//
//     patience = max(kPatience * opening time, kLeastRuns * run time), the second without deadline,
//                but not above kMaxRuns * run time nor kMaxWaited * time waited
// of `first`: waiting is bought with time saved, and a little of it for order, which costs nobody.
// Where contexts are cheap beside the run (large pictures, contexts that streams share) the rule is
// nearly a plain shared queue; where they are dear (many formats, distant caches) streams stay
// where they are. Run times and opening times are learned on line per context and worker
// (context_table.h). The constants are the ones with which, on simulated machines of 2 to 1,024
// PUs, it is nowhere worse than h-cahrw and the 99th percentile of the latency hardly above that of
// fifo (docs/SCHEDULING.md: where it is, and what order costs).
//
// Work conserving: a worker is never idle while a unit waits that may run there. Streams move to
// where there is room and stay there, so load spreads without a plan.
//
// Cost: O(contexts per worker + kCandidates + classes) for a free worker, O(depth * fan-out) for an
// arrival.
#include <algorithm>

#include "scheduler/late_binding.h"
#include "scheduler/policy_registry.h"
#include "scheduler/stream_table.h"
#include "scheduler/tree_choice.h"

namespace gopmill {
namespace {

// Of the oldest waiting units, how many a free worker chooses from.
constexpr int kCandidates = 8;
// How long the oldest unit may wait for one nanosecond of opening that others save.
constexpr double kPatience = 96;
// How long it may wait for the sake of order alone, in its own run times.
constexpr double kLeastRuns = 0.5;
// And never longer than so many of its own run times, nor than this part of what it has waited:
// under light load there is little to gain and every overtaking shows.
constexpr double kMaxRuns = 12;
constexpr double kMaxWaited = 0.5;
// Runs take about so much more or less than predicted, so a unit that should be done just after its
// stream's running one is taken to overtake it. Larger values buy order with latency.
constexpr double kMargin = 0.1;

class Hearth final : public Policy {
 public:
  Hearth(const PolicyOptions& options, const LoadTree& tree)
      : Policy(options.hash), choice_(options, tree) {}

  void On(const PolicyEvent& event, const PoolState& pool, TimePoint now,
          ActionList& actions) override {
    if (const auto* arrived = std::get_if<Arrived>(&event)) {
      OnArrived(arrived->unit, pool, actions);
    } else if (const auto* free = std::get_if<WorkerFree>(&event)) {
      if (!pool.idle(free->worker)) return;
      const UnitRef ref = NextFor(free->worker, pool, now);
      if (ref.valid()) Put(ref, free->worker, pool, actions);
    }
  }

  StreamHome Home(StreamId stream, const PoolState& pool) override {
    return choice_.Home(stream, pool);
  }

 private:
  void OnArrived(UnitRef ref, const PoolState& pool, ActionList& actions) {
    const Unit& unit = pool.unit(ref);
    const WorkerId hearth = HearthOf(unit, pool);
    const WorkerId idle = NearestIdle(hearth, unit, pool);
    if (idle.value >= 0) {
      Put(ref, idle, pool, actions);
    } else {
      actions.Add(Hold{ref, hearth});
    }
  }

  void Put(UnitRef ref, WorkerId w, const PoolState& pool, ActionList& actions) {
    actions.Add(Assign{ref, w});
    const StreamId stream = pool.unit(ref).spec.unit.stream;
    WorkerId* const known = hearths_.Find(stream);
    (known != nullptr ? *known : hearths_.Add(stream)) = w;
  }

  WorkerId HearthOf(const Unit& unit, const PoolState& pool) {
    const WorkerId* const known = hearths_.Find(unit.spec.unit.stream);
    const WorkerId w = known != nullptr && pool.available(*known) ? *known : unit.home.worker;
    return w == unit.excluded ? WorkerId{} : w;
  }

  // An idle worker in the smallest part of the machine around `from` that has one.
  static WorkerId NearestIdle(WorkerId from, const Unit& unit, const PoolState& pool) {
    if (unit.excluded.value >= 0 || from.value < 0) return LongestIdleFor(unit, pool);
    const LoadTree& tree = pool.tree();
    if (pool.idle(from)) return from;
    if (pool.LongestIdle().value < 0) return {};
    int index = tree.leaf_index(from);
    while (tree.node(index).vacant == 0) index = tree.node(index).parent;
    while (!tree.node(index).leaf()) {
      index = tree.node(index).first_child;
      while (tree.node(index).vacant == 0) ++index;
    }
    return WorkerId{tree.node(index).first_worker};
  }

  // Which units may go before the one that is due first: those that arrived until `last`, and
  // before one of a live stream only others of live streams.
  struct Before {
    TimePoint last;
    bool only_with_deadline = false;

    [[nodiscard]] bool MayRun(const Unit& unit, WorkerId w) const {
      return unit.excluded != w && unit.place.since <= last &&
             (!only_with_deadline || unit.spec.deadline != kNoDeadline);
    }
  };

  // Of all heads with a deadline, the one that is due first; invalid if there is none.
  static UnitRef FirstDueFor(WorkerId w, const PoolState& pool) {
    UnitRef first;
    for (int c = 0; c < static_cast<int>(pool.classes().size()); ++c) {
      const UnitRef ref = FirstHeadFor(c, w, pool);
      if (!ref.valid() || pool.unit(ref).spec.deadline == kNoDeadline) continue;
      if (!first.valid() || pool.unit(ref).spec.deadline < pool.unit(first).spec.deadline) {
        first = ref;
      }
    }
    return first;
  }

  UnitRef NextFor(WorkerId w, const PoolState& pool, TimePoint now) {
    const UnitRef due = FirstDueFor(w, pool);
    const UnitRef oldest = due.valid() ? due : OldestHeadFor(w, pool);
    if (!oldest.valid()) return oldest;
    const UnitRef first = FirstInOrder(w, oldest, due.valid(), pool, now);
    const Before before{.last = pool.unit(first).place.since + Patience(first, w, pool, now),
                        .only_with_deadline = due.valid()};
    const UnitRef warm = OldestWarmFor(w, before, pool, now);
    if (warm.valid()) return warm;
    const UnitRef own = OldestOwnFor(w, before, pool, now);
    if (own.valid()) return own;
    return CheapestFor(w, first, before, pool, now);
  }

  // Of the few from `oldest` on, the oldest one that overtakes nothing; if all do, whichever does
  // least.
  static UnitRef FirstInOrder(WorkerId w, UnitRef oldest, bool only_with_deadline,
                              const PoolState& pool, TimePoint now) {
    const Before any{.last = TimePoint::max(), .only_with_deadline = only_with_deadline};
    UnitRef best = oldest;
    double least = Overtakes(oldest, w, pool, now);
    int looked_at = 1;
    for (UnitRef ref = pool.NextHead(oldest); least > 0 && ref.valid() && looked_at < kCandidates;
         ref = pool.NextHead(ref), ++looked_at) {
      if (!any.MayRun(pool.unit(ref), w)) continue;
      const double by = Overtakes(ref, w, pool, now);
      if (by >= least) continue;
      best = ref;
      least = by;
    }
    return best;
  }

  static Duration Patience(UnitRef ref, WorkerId w, const PoolState& pool, TimePoint now) {
    const Unit& unit = pool.unit(ref);
    const double run = pool.predicted(ref, w);
    const double saved = kPatience * pool.opening_time(ref);
    const double wanted =
        unit.spec.deadline == kNoDeadline ? std::max(saved, kLeastRuns * run) : saved;
    const auto waited = static_cast<double>((now - unit.place.since).count());
    return Duration(
        static_cast<Duration::rep>(std::min({wanted, kMaxRuns * run, kMaxWaited * waited})));
  }

  UnitRef CheapestFor(WorkerId w, UnitRef first, const Before& before, const PoolState& pool,
                      TimePoint now) {
    UnitRef best = first;
    double best_cost = CostOf(first, w, pool, now);
    int looked_at = 1;
    for (UnitRef ref = pool.NextHead(first); ref.valid() && looked_at < kCandidates;
         ref = pool.NextHead(ref), ++looked_at) {
      if (best_cost <= 0 || pool.unit(ref).place.since > before.last) break;
      if (!before.MayRun(pool.unit(ref), w)) continue;
      const double cost = CostOf(ref, w, pool, now);
      if (cost >= best_cost) continue;
      best = ref;
      best_cost = cost;
    }
    return best;
  }

  // Nanoseconds lost by running the unit on `w` rather than where and when it would be best.
  double CostOf(UnitRef ref, WorkerId w, const PoolState& pool, TimePoint now) {
    const double run = pool.predicted(ref, w);
    double cost = pool.warm(ref, w) ? 0 : pool.opening_time(ref);
    const WorkerId hearth = HearthOf(pool.unit(ref), pool);
    if (hearth.value >= 0) cost += (Ratio(hearth, w, pool.tree()) - 1) * kMemoryShare * run;
    return cost + Overtakes(ref, w, pool, now);
  }

  // By how many nanoseconds the unit would be done before its stream's running one, if that takes
  // kMargin longer.
  static double Overtakes(UnitRef ref, WorkerId w, const PoolState& pool, TimePoint now) {
    const UnitRef running = pool.FirstAssignedOfStream(ref);
    const auto index = [&pool](UnitRef of) { return pool.unit(of).spec.unit.index; };
    // One that failed, or that comes late, may belong before what runs.
    if (!running.valid() || index(running) > index(ref)) return 0;
    const double left = pool.time_until_free(pool.unit(running).worker, now);
    return std::max(0.0, left * (1 + kMargin) - pool.predicted(ref, w));
  }

  // The oldest unit that may go first, for which `w` is warm, and that overtakes nothing; of those
  // that share a context, one of the oldest few.
  static UnitRef OldestWarmFor(WorkerId w, const Before& before, const PoolState& pool,
                               TimePoint now) {
    UnitRef oldest;
    int others = kCandidates - 1;
    // Whether to look behind this one.
    pool.ForEachWarmHead(w, [&](UnitRef ref) {
      const Unit& unit = pool.unit(ref);
      if (oldest.valid() && unit.place.sequence > pool.unit(oldest).place.sequence) return false;
      if (unit.place.since > before.last) return false;
      if (before.MayRun(unit, w) && Overtakes(ref, w, pool, now) <= 0) {
        oldest = ref;
        return false;
      }
      return others-- > 0;
    });
    return oldest;
  }

  // The same of the oldest few that wait for `w`.
  static UnitRef OldestOwnFor(WorkerId w, const Before& before, const PoolState& pool,
                              TimePoint now) {
    int looked_at = 0;
    for (UnitRef ref = pool.OldestHeldFor(w); ref.valid() && looked_at < kCandidates;
         ref = pool.NextHeld(ref), ++looked_at) {
      if (pool.unit(ref).place.since > before.last) break;
      if (before.MayRun(pool.unit(ref), w) && Overtakes(ref, w, pool, now) <= 0) return ref;
    }
    return {};
  }

  static double Ratio(WorkerId a, WorkerId b, const LoadTree& tree) {
    if (a == b) return 1;
    int common = tree.leaf_index(a);
    while (!tree.node(common).Holds(b)) common = tree.node(common).parent;
    return tree.node(common).ratio;
  }

  // Part of the run that distance makes longer: pictures and references that lie in the other
  // cache. A small number: it only breaks ties between cold candidates.
  static constexpr double kMemoryShare = 0.02;

  TreeChoice choice_;
  StreamTable<WorkerId> hearths_;
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeHearth(const PolicyOptions& options, const PoolState& pool) {
  GOPMILL_RETURN_IF_ERROR(RefuseMatrix("hearth", options.ratios));
  return std::unique_ptr<Policy>(std::make_unique<Hearth>(options, pool.tree()));
}

}  // namespace gopmill
