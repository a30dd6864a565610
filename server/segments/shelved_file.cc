// SPDX-License-Identifier: Apache-2.0
#include "server/segments/shelved_file.h"

#include <utility>

namespace gopmill {

Result<std::shared_ptr<const SourceIndex>> ShelvedFile::Index(
    const std::function<Result<std::shared_ptr<const SourceIndex>>()>& read) {
  const MutexLock reading(reading_);
  {
    const MutexLock lock(mutex_);
    if (index_) return index_;
  }
  GOPMILL_ASSIGN_OR_RETURN(auto index, read());
  const std::size_t bytes = index->footprint_bytes();
  const MutexLock lock(mutex_);
  index_ = index;
  bytes_ = bytes;
  return index;
}

std::unique_ptr<SegmentReader> ShelvedFile::TakeReader() {
  const MutexLock lock(mutex_);
  if (readers_.empty()) return nullptr;
  auto reader = std::move(readers_.back().reader);
  readers_.pop_back();
  return reader;
}

void ShelvedFile::GiveReader(std::unique_ptr<SegmentReader> reader) {
  const MutexLock lock(mutex_);
  if (shelved_ && readers_.size() < kKeptReaders)
    readers_.push_back({std::move(reader), SteadyNow()});
}

ShelvedFile::Readers ShelvedFile::TakeIdle(TimePoint time) {
  Readers idle;
  const MutexLock lock(mutex_);
  for (Idle& each : readers_) {
    if (each.since < time) idle.push_back(std::move(each.reader));
  }
  std::erase_if(readers_, [](const Idle& each) { return each.reader == nullptr; });
  return idle;
}

void ShelvedFile::Shelve() {
  const MutexLock lock(mutex_);
  shelved_ = true;
}

ShelvedFile::Readers ShelvedFile::Unshelve() {
  {
    const MutexLock lock(mutex_);
    shelved_ = false;
  }
  return TakeIdle(TimePoint::max());
}

std::size_t ShelvedFile::footprint_bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace gopmill
