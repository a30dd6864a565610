// SPDX-License-Identifier: Apache-2.0
#include "server/session/run_shelf.h"

#include <algorithm>
#include <utility>

namespace gopmill {

RunShelf::Kept RunShelf::TakeFirst() {
  Kept kept = std::move(kept_.front());
  kept_.pop_front();
  bytes_ -= kept.bytes;
  return kept;
}

void RunShelf::Put(std::string key, std::unique_ptr<FrameSelector> run) {
  const std::size_t bytes = run ? run->footprint_bytes() : 0;
  if (!run || bytes > most_bytes_) return;
  std::vector<Kept> gone;  // destroyed without the lock
  const MutexLock lock(mutex_);
  while (bytes_ + bytes > most_bytes_) gone.push_back(TakeFirst());
  kept_.push_back(
      {.key = std::move(key), .run = std::move(run), .bytes = bytes, .since = SteadyNow()});
  bytes_ += bytes;
}

std::unique_ptr<FrameSelector> RunShelf::Take(const std::string& key) {
  const MutexLock lock(mutex_);
  const auto found = std::ranges::find(kept_, key, &Kept::key);
  if (found == kept_.end()) return nullptr;
  std::unique_ptr<FrameSelector> run = std::move(found->run);
  bytes_ -= found->bytes;
  kept_.erase(found);
  return run;
}

void RunShelf::Drop(TimePoint time) {
  std::vector<Kept> gone;
  const MutexLock lock(mutex_);
  while (!kept_.empty() && kept_.front().since < time) gone.push_back(TakeFirst());
}

std::size_t RunShelf::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace gopmill
