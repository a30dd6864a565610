// SPDX-License-Identifier: Apache-2.0
//
// Streams of one live source whose units lie at the same pictures: the units of all of them become
// one job, which decodes once (TranscodeTogether). What is made is the same either way.
//
// Two kinds. The renditions of a presentation are there from the first unit on and wait for each
// other as long as it takes. Readers come and go (Join, Leave): each takes part from its second GOP
// on, since nothing shall delay its first packets. Who keeps the others waiting for longer than
// kGroupPatience, or is cut differently from them in the middle of a run, is on its own until its
// next GOP, the third time for good (Lateness).
//
// One worker then makes all renditions of a unit. Where that takes it too long (kTogetherLoad),
// they are divided into two parts, each a job of its own, and another worker takes its part; so
// again, until each part is quick enough or one rendition, or each worker has one. Parts share the
// source's decoded pictures like any of its streams (picture_store.h). Two parts of readers with
// little to do become one again. A division begins with a unit that begins a run: inside of one
// there is one decoder. A source without another key frame is not divided.
//
// Thread-safety: safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/thread_safety.h"
#include "scheduler/scheduler.h"
#include "server/stream/lateness.h"
#include "server/stream/unit_job.h"

namespace gopmill {

// Time of a worker per media time: CPU time, or of encoders that have threads of their own all of
// it.
inline constexpr double kTogetherLoad = 0.7;
inline constexpr std::chrono::milliseconds kGroupPatience{100};

class DecodeGroup : public std::enable_shared_from_this<DecodeGroup> {
 public:
  // Of so many renditions, which all wait for each other; member i is the i-th of them.
  explicit DecodeGroup(std::size_t members, double load = kTogetherLoad);
  // Of readers, none so far.
  static std::shared_ptr<DecodeGroup> OfReaders(Duration patience);

  // A reader's number, until it leaves.
  std::size_t Join();
  // Number `member` will have this unit; all of them, in their order, each before it is submitted.
  void Announce(std::size_t member, const StreamPlan& plan, const UnitSpec& unit, int workers);
  // Number `member` has a unit, those of a run in their order. Waits for those of the others. The
  // order's mailbox gets its report, whatever happens. `scheduler` is that of all members.
  void Submit(std::size_t member, const JobSpec& spec, UnitOrder order, Scheduler& scheduler);
  // To be called from time to time: goes on without readers that are late.
  void GoOn(Scheduler& scheduler);
  // The member is over: nobody waits for it any more, and what waited for others is cancelled. With
  // the last one, what has been submitted for several and has not begun is taken back.
  void Leave(std::size_t member, Scheduler& scheduler);
  // Parts whose load is remembered: at most one for each member and layout.
  [[nodiscard]] std::size_t part_count() const;

 private:
  struct Waiting {
    std::size_t member = 0;
    JobSpec spec;
    UnitOrder order;
    TimePoint since = SteadyNow();
  };
  using Unit = std::vector<Waiting>;
  // Where frames of different members meet: their places on the grid.
  using Place = std::int64_t;
  struct Member {
    bool in_use = true;
    bool takes_part = true;
    Place next = std::numeric_limits<Place>::min();  // behind the last unit announced
    std::set<Place> due;                             // announced, not submitted
    bool is_new = true;                              // nothing announced
    Lateness lateness;
    std::int64_t pixels = 0;  // of its pictures, once it has had a unit
  };
  struct Layout {
    Place from;                     // it holds from here on
    std::vector<std::size_t> part;  // of each member
  };
  struct Part {
    double load = 0;     // mean of late
    double seconds = 0;  // of media, measured so far
  };
  void LeaveOut(std::size_t member) GOPMILL_REQUIRES(mutex_);
  void Enter(std::size_t member, int workers) GOPMILL_REQUIRES(mutex_);
  [[nodiscard]] std::set<std::size_t> PartsInUse(const Layout& layout) const
      GOPMILL_REQUIRES(mutex_);
  std::size_t NewPart() GOPMILL_REQUIRES(mutex_);
  // Those that no layout names: what is still running of them counts for nothing any more.
  void ForgetParts() GOPMILL_REQUIRES(mutex_);
  void LayOut(Place from, int workers) GOPMILL_REQUIRES(mutex_);
  bool DivideParts(Layout& next, int workers) GOPMILL_REQUIRES(mutex_);
  bool Divide(std::size_t part, Layout& layout) GOPMILL_REQUIRES(mutex_);
  bool MergeParts(Layout& next) GOPMILL_REQUIRES(mutex_);
  const Layout& LayoutAt(Place place) const GOPMILL_REQUIRES(mutex_);
  // Whether this member may still have a unit of the part there.
  [[nodiscard]] bool MayCome(std::size_t member, std::size_t part, Place place) const
      GOPMILL_REQUIRES(mutex_);
  void SubmitReady(Scheduler& scheduler) GOPMILL_REQUIRES(mutex_);
  // What has come of the unit for `part`, if that is all; else nothing.
  Unit TakeWhole(Place place, Unit& unit, std::size_t part) GOPMILL_REQUIRES(mutex_);
  void SubmitUnit(Unit unit, std::size_t part, Scheduler& scheduler) GOPMILL_REQUIRES(mutex_);
  void SubmitTogether(Unit unit, const UnitJob::ReportHandler& on_report, Scheduler& scheduler)
      GOPMILL_REQUIRES(mutex_);
  UnitJob::ReportHandler Noting(const UnitTask& task, std::size_t part);
  // A unit of so many seconds took a worker so many.
  void Note(std::size_t part, double took, double seconds);

  const bool readers_;
  Duration patience_{};  // with readers; set once
  const double most_load_;
  const StreamId id_;  // of the jobs for several members: no member's end is theirs

  mutable Mutex mutex_;  // guards all below; held while a job is submitted, which does not block
  std::vector<Member> members_ GOPMILL_GUARDED_BY(mutex_);
  std::vector<Layout> layouts_ GOPMILL_GUARDED_BY(mutex_);        // one after the other
  std::map<std::size_t, Part> parts_ GOPMILL_GUARDED_BY(mutex_);  // by number, never given again
  std::size_t next_part_ GOPMILL_GUARDED_BY(mutex_) = 1;          // 0: that of the first layout
  std::map<Place, Unit> waiting_ GOPMILL_GUARDED_BY(mutex_);
  Place newest_ GOPMILL_GUARDED_BY(mutex_) = std::numeric_limits<Place>::min();
  std::int64_t jobs_ GOPMILL_GUARDED_BY(mutex_) = 0;  // for several members, so far
};

}  // namespace gopmill
