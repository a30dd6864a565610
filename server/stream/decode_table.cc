// SPDX-License-Identifier: Apache-2.0
#include "server/stream/decode_table.h"

namespace gopmill {

std::shared_ptr<DecodeGroup> DecodeTable::Find(const StreamPlan& plan,
                                               std::uint16_t service_class) {
  const Target& target = plan.target;
  const Rational fps = plan.grid.fps();
  const Key key{plan.source->video.parameters.get(),
                fps.num,
                fps.den,
                plan.grid.origin(),
                target.degrain,
                plan.deinterlace(),
                plan.low_delay,
                target.unit_seconds,
                service_class};
  const MutexLock lock(mutex_);
  std::erase_if(groups_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<DecodeGroup>& kept = groups_[key];
  std::shared_ptr<DecodeGroup> group = kept.lock();
  if (group == nullptr) kept = group = DecodeGroup::OfReaders(patience_);
  return group;
}

}  // namespace gopmill
