// SPDX-License-Identifier: Apache-2.0
#include "media/reorderer.h"

#include <algorithm>
#include <string>

namespace gopmill {

Status Reorderer::OnPacket(UnitIndex unit, std::int64_t place, av::Packet packet,
                           std::vector<Released>& out) {
  if (unit < head_) return OkStatus();  // a late duplicate
  Waiting& waiting = units_[unit];
  if (place < waiting.received) return OkStatus();
  if (place > waiting.received) {
    return InternalError("Packet " + std::to_string(waiting.received) + " of unit " +
                         std::to_string(unit.value) + " is missing.");
  }
  ++waiting.received;
  bytes_ += static_cast<std::size_t>(packet->size);
  peak_bytes_ = std::max(peak_bytes_, bytes_);
  waiting.packets.push_back(std::move(packet));
  if (unit == head_) Release(out);
  return OkStatus();
}

Status Reorderer::OnUnitEnd(UnitIndex unit, std::int64_t packets, std::vector<Released>& out) {
  if (unit < head_) return OkStatus();
  Waiting& waiting = units_[unit];
  if (waiting.received != packets) {
    return InternalError("Unit " + std::to_string(unit.value) + " brought " +
                         std::to_string(waiting.received) + " of " + std::to_string(packets) +
                         " packets.");
  }
  waiting.planned = packets;
  if (unit == head_) Release(out);
  return OkStatus();
}

// Lets the head-of-line unit's packets go, keeping its last one back until the unit has ended (so
// that it can be marked), and moves on through the units that have.
void Reorderer::Release(std::vector<Released>& out) {
  for (auto it = units_.find(head_); it != units_.end() && it->first == head_;
       it = units_.begin()) {
    Waiting& waiting = it->second;
    const bool ended = waiting.planned >= 0;
    const std::size_t keep = ended || waiting.packets.empty() ? 0 : 1;
    for (std::size_t i = 0; i + keep < waiting.packets.size(); ++i) {
      bytes_ -= static_cast<std::size_t>(waiting.packets[i]->size);
      const bool last = ended && i + 1 == waiting.packets.size();
      out.push_back({.unit = head_, .last_of_unit = last, .packet = std::move(waiting.packets[i])});
    }
    waiting.packets.erase(waiting.packets.begin(),
                          waiting.packets.end() - static_cast<std::ptrdiff_t>(keep));
    if (!ended) return;
    if (waiting.planned == 0) out.push_back({.unit = head_, .last_of_unit = true, .packet = {}});
    units_.erase(it);
    head_.value += 1;
    if (units_.empty()) return;
  }
}

}  // namespace gopmill
