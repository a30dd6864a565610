// SPDX-License-Identifier: Apache-2.0
//
// conn: connection affinity: a new stream goes to the worker with the shortest queue, and all its
// units follow it there, idle workers or not:
//     worker of a stream = argmin over p of Q_p at its first unit
// with Q_p the bytes that p holds and those of the heads that wait for it (no other may take them),
// until that worker is out of service, or so many other streams came that it is forgotten
// (stream_table.h). O(workers) per new stream, O(1) per unit.
// Source: D. Guo, L. N. Bhuyan, B. Liu, "An Efficient Parallelized L7-Filter Design for Multicore
// Servers", IEEE/ACM ToN 20(5), 2012.
#include "scheduler/early_binding.h"
#include "scheduler/policy_registry.h"
#include "scheduler/stream_table.h"

namespace gopmill {
namespace {

class Conn final : public Policy {
 public:
  explicit Conn(const PolicyOptions& options) : Policy(options.hash) {}

  void On(const PolicyEvent& event, const PoolState& pool, TimePoint /*now*/,
          ActionList& actions) override {
    const auto pick = [&](const Unit& unit) { return WorkerOf(unit, pool); };
    BindEarly(event, pool, Rebinding::kNever, pick, actions);
  }

 private:
  WorkerId WorkerOf(const Unit& unit, const PoolState& pool) {
    const StreamId stream = unit.spec.unit.stream;
    const WorkerId* const known = streams_.Find(stream);
    if (known != nullptr && pool.available(*known) && *known != unit.excluded) return *known;
    WorkerId shortest;
    for (std::int32_t i = 0; i < pool.worker_count(); ++i) {
      const WorkerId w{i};
      if (!pool.available(w) || w == unit.excluded) continue;
      const bool shorter =
          shortest.value < 0 || pool.load_with_held(w) < pool.load_with_held(shortest);
      if (shorter) shortest = w;
    }
    // A retry elsewhere does not move the stream.
    if (shortest.value >= 0 && unit.excluded.value < 0) streams_.Add(stream) = shortest;
    return shortest;
  }

  StreamTable<WorkerId> streams_;
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeConn(const PolicyOptions& options, const PoolState& /*pool*/) {
  return std::unique_ptr<Policy>(std::make_unique<Conn>(options));
}

}  // namespace gopmill
