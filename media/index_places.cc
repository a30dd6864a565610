// SPDX-License-Identifier: Apache-2.0
#include "media/index_places.h"

#include <algorithm>

namespace gopmill {

void IndexPlaces::OfFile(std::uint64_t bytes, std::uint64_t mfra_bytes) {
  file_bytes_ = bytes;
  mfra_bytes_ = mfra_bytes;
}

bool IndexPlaces::Box(std::uint64_t begin, std::uint64_t end) {
  top_end_ = end;
  const bool known = !ahead_.empty() && ahead_.front() == begin;
  if (known) ahead_.pop_front();
  // Behind the end of a file there is nothing to be read.
  if (file_bytes_) end = std::min(end, *file_bytes_);
  while (!ahead_.empty() && ahead_.front() < end) {
    astray_ = true;
    ahead_.pop_front();
  }
  return known;
}

bool IndexPlaces::Add(std::uint64_t place) {
  AddEnd(place);
  if (place < top_end_) {  // a box that has begun
    astray_ = true;
    return true;
  }
  const auto at = std::ranges::lower_bound(ahead_, place);
  if (at != ahead_.end() && *at == place) return false;
  const bool behind = at == ahead_.end();
  ahead_.insert(at, place);
  return !behind;
}

void IndexPlaces::AddEnd(std::uint64_t place) {
  if (!file_bytes_) return;
  complete_ = complete_ || place == *file_bytes_ || place == *file_bytes_ - mfra_bytes_;
}

}  // namespace gopmill
