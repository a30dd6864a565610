// SPDX-License-Identifier: Apache-2.0
//
// Remembers where streams were put: a fixed table of stream -> worker that forgets the oldest of
// four when a fifth falls into the same bucket. For policies that decide once per stream; a stream
// that was forgotten is decided anew.
//
// Guarantees: O(1), no allocation after construction.
//
// Thread-safety: compatible.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "base/ids.h"
#include "scheduler/rendezvous.h"

namespace gopmill {

class StickyMap {
 public:
  static constexpr std::size_t kBuckets = 4096;
  static constexpr std::size_t kWays = 4;

  // -1 if it is not known.
  [[nodiscard]] WorkerId Find(StreamId stream) const {
    for (const Entry& entry : BucketOf(stream)) {
      if (entry.worker.value >= 0 && entry.stream == stream) return entry.worker;
    }
    return {};
  }

  void Set(StreamId stream, WorkerId worker) {
    Bucket& bucket = buckets_[IndexOf(stream)];
    std::size_t place = 0;
    while (place + 1 < kWays && bucket[place].stream != stream) ++place;
    for (; place > 0; --place) bucket[place] = bucket[place - 1];
    bucket[0] = {stream, worker};
  }

 private:
  struct Entry {
    StreamId stream;
    WorkerId worker;
  };
  using Bucket = std::array<Entry, kWays>;

  static std::size_t IndexOf(StreamId stream) { return Mix64(stream.value) % kBuckets; }
  [[nodiscard]] const Bucket& BucketOf(StreamId stream) const { return buckets_[IndexOf(stream)]; }

  std::vector<Bucket> buckets_ = std::vector<Bucket>(kBuckets);
};

}  // namespace gopmill
