// SPDX-License-Identifier: Apache-2.0
#include "server/segments/making_table.h"

#include <algorithm>
#include <utility>

namespace gopmill {

std::optional<MakingTable::Joined> MakingTable::Join(const std::string& key, SegmentWaiter waiter,
                                                     const PartRequest& request,
                                                     std::uint16_t service_class) {
  const auto found = making_.find(key);
  const bool first = found == making_.end();
  if (first && !HasRoomFor(request.path)) return std::nullopt;
  const auto making = first ? (making_[key] = std::make_shared<Making>()) : found->second;
  if (first) {
    making->service_class = service_class;
    making->movie = request.path;
    making->part = request.path + "/" + request.name;
  }
  making->waiters.push_back(std::move(waiter));
  return Joined{making, first};
}

// Of a folder on a disk that hangs, others shall have room beside what waits for it.
bool MakingTable::HasRoomFor(const std::string& path) const {
  const auto here = std::ranges::count_if(
      making_, [&](const auto& entry) { return FolderOf(entry.second->part) == FolderOf(path); });
  const auto given_up = std::ranges::count_if(
      jobs_out_, [](const auto& making) { return making->stop.stop_requested(); });
  return making_.size() < kMaxSegmentsMaking &&
         static_cast<std::size_t>(here) < kMaxMakingInFolder &&
         making_.size() + static_cast<std::size_t>(given_up) < kMaxSegmentJobs;
}

PacketBytes MakingTable::bytes_out() const {
  PacketBytes bytes;
  for (const auto& making : jobs_out_) bytes[making->movie] += making->bytes;
  return bytes;
}

MakingTable::Leaving MakingTable::Leave(PartTicket ticket) {
  const auto is_it = [&](const SegmentWaiter& waiter) { return waiter.ticket == ticket; };
  for (auto at = making_.begin(); at != making_.end(); ++at) {
    const std::shared_ptr<Making> making = at->second;
    if (std::erase_if(making->waiters, is_it) == 0) continue;
    if (!making->waiters.empty()) return {.waited = true, .given_up = nullptr};
    making->stop.request_stop();
    making_.erase(at);
    return {.waited = true, .given_up = making};
  }
  return {};
}

std::vector<SegmentWaiter> MakingTable::Finish(const std::string& key, Making& making) {
  const auto found = making_.find(key);
  if (found != making_.end() && found->second.get() == &making) making_.erase(found);
  return std::exchange(making.waiters, {});
}

void MakingTable::StopAll() {
  for (const auto& [key, making] : making_) making->stop.request_stop();
}

}  // namespace gopmill
