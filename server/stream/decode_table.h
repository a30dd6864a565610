// SPDX-License-Identifier: Apache-2.0
//
// Finds the readers of live sources that may be decoded together: those of the same source whose
// output grids and units have the same lengths, in the same service class. Which of their units
// really are alike is for their DecodeGroup to see.
//
// Thread-safety: safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

#include "base/thread_safety.h"
#include "media/plan.h"
#include "server/stream/decode_group.h"

namespace gopmill {

class DecodeTable {
 public:
  // `patience`: for how long they wait for each other.
  explicit DecodeTable(Duration patience = kGroupPatience) : patience_(patience) {}
  // The group of readers with such a plan, on the clock that readers share; it lasts as long as
  // they keep it.
  std::shared_ptr<DecodeGroup> Find(const StreamPlan& plan, std::uint16_t service_class);

 private:
  // The source's pictures (alive as long as the group's readers, who have SourceInfos of their own
  // where they choose among sounds), frame rate, origin of the grid, filters in time, pieces of
  // GOPs, length of a unit or GOP, service class.
  using Key = std::tuple<const AVCodecParameters*, std::int64_t, std::int64_t, SourceTicks, Denoise,
                         Deinterlace, bool, double, std::uint16_t>;
  const Duration patience_;
  Mutex mutex_;  // guards groups_
  std::map<Key, std::weak_ptr<DecodeGroup>> groups_ GOPMILL_GUARDED_BY(mutex_);
};

}  // namespace gopmill
