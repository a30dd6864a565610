// SPDX-License-Identifier: Apache-2.0
//
// Streams that are renditions of one live source, and whose units lie at the same pictures: the
// units of all of them become one job, which decodes once (TranscodeTogether). What is made is the
// same either way.
//
// One worker then makes all renditions of a unit. Where that takes it too long (kTogetherLoad),
// they are divided into two parts for good, each decodes on its own, and another worker takes its
// part; so again, until each part is quick enough or one rendition, or each worker has one. A
// division begins with a unit that begins a run: inside of one there is one decoder. A source
// without another key frame is not divided.
//
// Thread-safety: safe.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "base/thread_safety.h"
#include "scheduler/scheduler.h"
#include "server/session/unit_job.h"

namespace gopmill {

// Time of a worker per media time: CPU time, or of encoders that have threads of their own all of
// it.
inline constexpr double kTogetherLoad = 0.7;

class DecodeGroup : public std::enable_shared_from_this<DecodeGroup> {
 public:
  explicit DecodeGroup(std::size_t members, double load = kTogetherLoad)
      : most_load_(load),
        members_(members),
        layouts_{{.from = {}, .part = std::vector<std::size_t>(members, 0)}},
        parts_(1) {}

  // Number `member` has a unit. Waits for those of the others. The order's mailbox gets its report,
  // whatever happens. `scheduler` is that of all members.
  void Submit(std::size_t member, const JobSpec& spec, UnitOrder order, Scheduler& scheduler);
  // The member is over: nobody waits for it any more, and what waited for others is cancelled.
  void Leave(std::size_t member, Scheduler& scheduler);

 private:
  struct Waiting {
    std::size_t member = 0;
    JobSpec spec;
    UnitOrder order;
  };
  using Unit = std::vector<Waiting>;
  struct Member {
    bool active = true;
    std::int64_t pixels = 0;  // of its pictures, once it has had a unit
  };
  struct Layout {
    UnitIndex from;                 // it holds from this unit on
    std::vector<std::size_t> part;  // of each member
  };
  struct Part {
    double load = 0;     // mean of late
    double seconds = 0;  // of media, measured so far
  };
  void DivideParts(UnitIndex from, int workers) GOPMILL_REQUIRES(mutex_);
  void Divide(std::size_t part, Layout& layout) GOPMILL_REQUIRES(mutex_);
  const Layout& LayoutOf(UnitIndex unit) const GOPMILL_REQUIRES(mutex_);
  void SubmitReady(Scheduler& scheduler) GOPMILL_REQUIRES(mutex_);
  // What has come of the unit for `part`, if that is all; else nothing.
  Unit TakeWhole(Unit& unit, const Layout& layout, std::size_t part) GOPMILL_REQUIRES(mutex_);
  void SubmitUnit(Unit unit, std::size_t part, Scheduler& scheduler) GOPMILL_REQUIRES(mutex_);
  // A unit of so many seconds took a worker so many.
  void Note(std::size_t part, double took, double seconds);

  const double most_load_;

  Mutex mutex_;  // guards all below; held while a job is submitted, which does not block
  std::vector<Member> members_ GOPMILL_GUARDED_BY(mutex_);
  std::vector<Layout> layouts_ GOPMILL_GUARDED_BY(mutex_);  // one after the other
  std::vector<Part> parts_ GOPMILL_GUARDED_BY(mutex_);
  std::map<UnitIndex, Unit> waiting_ GOPMILL_GUARDED_BY(mutex_);
  UnitIndex newest_ GOPMILL_GUARDED_BY(mutex_){-1};
};

}  // namespace gopmill
