// SPDX-License-Identifier: Apache-2.0
//
// Remembers something about streams in a fixed table: four to a bucket, and the one used least
// recently is forgotten when a fifth falls into the same bucket. For policies that keep a decision
// per stream; a stream that was forgotten is decided anew.
//
// Guarantees: O(1), no allocation after construction.
//
// Thread-safety: compatible.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "base/ids.h"
#include "scheduler/rendezvous.h"

namespace gopmill {

template <class Value>
class StreamTable {
 public:
  explicit StreamTable(std::size_t buckets = 4096) : buckets_(buckets) {}

  // Null if it is not known. Valid until the next call.
  [[nodiscard]] Value* Find(StreamId stream) {
    Bucket& bucket = BucketOf(stream);
    const auto found = std::find_if(bucket.begin(), bucket.end(), [&](const Entry& entry) {
      return entry.used && entry.stream == stream;
    });
    if (found == bucket.end()) return nullptr;
    std::rotate(bucket.begin(), found, found + 1);
    return &bucket.front().value;
  }

  // A fresh value for the stream, in the place of the oldest of its bucket.
  Value& Add(StreamId stream) {
    Bucket& bucket = BucketOf(stream);
    std::rotate(bucket.begin(), bucket.end() - 1, bucket.end());
    bucket.front() = {.stream = stream, .used = true, .value = Value{}};
    return bucket.front().value;
  }

 private:
  struct Entry {
    StreamId stream;
    bool used = false;
    Value value = {};
  };
  using Bucket = std::array<Entry, 4>;

  Bucket& BucketOf(StreamId stream) { return buckets_[Mix64(stream.value) % buckets_.size()]; }

  std::vector<Bucket> buckets_;
};

}  // namespace gopmill
