// SPDX-License-Identifier: Apache-2.0
//
// What is known about codec contexts: which worker still holds which (so that the next unit that
// needs it starts warm), and how long units that use it take, learned from the runs that ended.
//
// Warmth is a model of the workers' caches, not a look into them: each worker is taken to keep the
// last `contexts_per_worker` contexts it used. When a run reports that it was cold although the
// model said warm, only the statistics of times are affected; when it was warm although the model
// said cold (streams share what they need), it is learned that a cold start costs nothing.
//
// Predicted time:  t = work * rate(context) * speed(worker)  [+ opening(context) when cold]
// with rate and opening as exponential averages (of rates the newest run counts 1/8, of openings
// 1/16), `work` in frames or bytes (one of the two for all units of a context). A context never
// seen before takes the mean rate of all. The speed of a worker is how much longer runs take on it
// than on the others: within 0.1 to 10, 1 in the (geometric) mean of all, and moved neither by runs
// of uneven length nor, where all workers run, by what they have in common (tested). Those that
// never ran are 1 and in the mean, so while only some run, less of that is taken back.
//
// Guarantees: O(1) per operation, of heads that share a context O(log n), but for a new context
// when there are kMaxContexts: what all workers keep is looked through for the one that is
// forgotten for it. No allocation once kMaxContexts and as many such heads as ever were seen; a
// context that no unit in the scheduler refers to may be forgotten when there are more.
//
// Thread-safety: compatible.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "scheduler/job.h"

namespace gopmill {

// Contexts remembered at once; some 100 bytes each.
inline constexpr std::size_t kMaxContexts = 16'384;

class ContextTable {
 public:
  static constexpr std::uint32_t kNoHead = 0xFFFFFFFF;

  ContextTable(int workers, int contexts_per_worker);

  // What a unit's contexts are known by: those it names, or its stream's own.
  static std::uint64_t KeyOf(const JobSpec& spec);
  // The slot of a unit's context, which stays valid until Unref.
  std::uint32_t Ref(const JobSpec& spec);
  void Unref(std::uint32_t slot);

  // The worker will have run a unit with that context.
  void Use(std::uint32_t slot, WorkerId worker);
  // It will not after all. What that displaced stays forgotten: it may be taken for cold wrongly.
  void TakeBack(std::uint32_t slot, WorkerId worker);
  [[nodiscard]] bool Warm(std::uint32_t slot, WorkerId worker) const;

  // The slots of the contexts the worker keeps, newest first; 0 = none.
  [[nodiscard]] std::span<const std::uint32_t> KeptBy(WorkerId worker) const {
    return std::span(recent_).subspan(static_cast<std::size_t>(worker.value) * contexts_per_worker_,
                                      contexts_per_worker_);
  }
  // The waiting heads that need a context, in order of arrival: what a policy looks through that
  // seeks work for a worker that keeps the context.
  struct Head {
    std::uint64_t sequence = 0;  // of arrival
    std::uint32_t unit = kNoHead;
    [[nodiscard]] bool valid() const { return unit != kNoHead; }
  };
  void AddHead(std::uint32_t slot, Head head);
  void RemoveHead(std::uint32_t slot, Head head);
  // Invalid if there is none.
  [[nodiscard]] Head OldestHead(std::uint32_t slot) const { return entries_[slot].oldest; }
  [[nodiscard]] Head NextHead(std::uint32_t slot, Head head) const;

  // A run ended well: its times, its worker and whether it was cold are taken from the report.
  // `taken_for_warm`: what the model said when it was assigned.
  void Learn(std::uint32_t slot, const JobSpec& spec, const JobReport& report,
             bool taken_for_warm = true);
  // Expected time of a unit on that worker (-1: an average one), in nanoseconds. 0 before anything
  // was learned at all.
  [[nodiscard]] double Predict(std::uint32_t slot, const JobSpec& spec, WorkerId worker) const;
  // Expected surcharge of a start that the model takes for cold, in nanoseconds.
  [[nodiscard]] double OpeningTime(std::uint32_t slot) const;

 private:
  struct Entry {
    std::uint64_t key = 0;
    std::uint32_t refs = 0;
    std::uint32_t younger_heads = 0;       // in younger_heads_
    Head oldest = {};                      // of the heads that need it
    std::uint32_t previous = 0, next = 0;  // the list of entries without refs, oldest first
    double rate = 0;                       // ns per unit of work, hot; 0 = not learned
    double opening = 0;                    // ns
    bool opening_known = false;
  };
  std::uint32_t NewSlot(std::uint64_t key);
  void LinkUnused(std::uint32_t slot);
  void UnlinkUnused(std::uint32_t slot);
  void LearnOpening(Entry& entry, double opening);
  void LearnSpeed(WorkerId worker, double ratio);
  static double WorkOf(const JobSpec& spec);

  std::vector<Entry> entries_;  // entry 0 is the head of the list of unused ones
  std::pmr::unsynchronized_pool_resource memory_;
  std::pmr::unordered_map<std::uint64_t, std::uint32_t> slots_{&memory_};
  // All heads but the oldest of each context, by context and arrival: few, as most streams have
  // contexts of their own. Of thousands that share one, any may come and go: hence a tree.
  struct YoungerHead {
    std::uint32_t slot = 0;
    Head head;
    friend bool operator<(const YoungerHead& a, const YoungerHead& b) {
      return a.slot != b.slot ? a.slot < b.slot : a.head.sequence < b.head.sequence;
    }
  };
  std::pmr::set<YoungerHead> younger_heads_{&memory_};
  // For every worker its contexts, newest first: contexts_per_worker_ slots, 0 = none.
  const std::size_t contexts_per_worker_;
  std::vector<std::uint32_t> recent_;
  std::vector<double> speed_;  // by worker: time taken / time on an average one
  double log_speeds_ = 0;      // sum of their logarithms
  // Over all contexts, per frame and per byte: for contexts without a rate of their own.
  double mean_frame_rate_ = 0, mean_byte_rate_ = 0;
  double mean_opening_ = 0;
};

}  // namespace gopmill
