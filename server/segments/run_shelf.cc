// SPDX-License-Identifier: Apache-2.0
#include "server/segments/run_shelf.h"

#include <algorithm>
#include <utility>

namespace gopmill {

RunShelf::Kept RunShelf::TakeOut(std::deque<Kept>::iterator kept) {
  Kept out = std::move(*kept);
  kept_.erase(kept);
  bytes_ -= out.bytes;
  return out;
}

void RunShelf::Put(std::string key, std::unique_ptr<FrameSelector> run, TimePoint now) {
  const std::size_t bytes = run->footprint_bytes();
  std::vector<Kept> gone;  // destroyed without the lock
  const MutexLock lock(mutex_);
  const auto same = std::ranges::find(kept_, key, &Kept::key);
  if (same != kept_.end()) gone.push_back(TakeOut(same));
  while (bytes_ + bytes > most_bytes_ && !kept_.empty() && kept_.front().since < now - kRunWanted) {
    gone.push_back(TakeOut(kept_.begin()));
  }
  if (bytes_ + bytes > most_bytes_ && !kept_.empty()) return;
  kept_.push_back({.key = std::move(key), .run = std::move(run), .bytes = bytes, .since = now});
  bytes_ += bytes;
}

std::unique_ptr<FrameSelector> RunShelf::Take(const std::string& key) {
  const MutexLock lock(mutex_);
  const auto found = std::ranges::find(kept_, key, &Kept::key);
  return found == kept_.end() ? nullptr : TakeOut(found).run;
}

void RunShelf::Drop(TimePoint time) {
  std::vector<Kept> gone;
  const MutexLock lock(mutex_);
  while (!kept_.empty() && kept_.front().since < time) gone.push_back(TakeOut(kept_.begin()));
}

std::size_t RunShelf::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace gopmill
