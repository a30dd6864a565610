// SPDX-License-Identifier: Apache-2.0
//
// Reads movies of the library to their end before anybody asks for them, one after the other, so
// that the first viewer of one does not wait for that. KeptIndexes has what is read.
//
// It gives way: a movie is begun when clients have not been active for `quiet`. One that was begun
// is read to its end; who asks for it meanwhile waits for the same reading.
//
// Not read are movies whose index is kept, those that changed less than `settled` ago (they may be
// copied just now), and until their file changes those that are bad or whose index cannot be kept.
// None is read while more than kFullestAhead of the cache of indexes is in use: it would push out
// those of movies that are watched.
//
// Threads: one of its own, which lists the library and waits; what reads are those of
// SegmentService. Thread-safety: safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/thread_safety.h"
#include "server/files/disk_cache.h"
#include "server/files/library.h"
#include "server/segments/segment_service.h"

namespace gopmill {

inline constexpr double kFullestAhead = 0.875;

struct IndexAheadStats {
  std::uint64_t read = 0, failed = 0;
  std::int64_t waiting = 0;  // to be read, as of the last look at the library
};

struct IndexAheadTimes {
  Duration look_again = std::chrono::minutes(10);  // at the library, when all has been read
  Duration settled = std::chrono::minutes(1);
  Duration quiet = std::chrono::seconds(10);
  Duration poll = std::chrono::seconds(1);  // whether it is quiet
};

class IndexAhead {
 public:
  // What clients do: whether any is served, and any number that changes with each request.
  struct Activity {
    bool busy = false;
    std::uint64_t requests = 0;
  };
  // Library, segments and `kept`, where their indexes go, must outlive it. `activity` is called by
  // its thread.
  IndexAhead(const Library& library, SegmentService& segments, const DiskCache& kept,
             std::function<Activity()> activity, const IndexAheadTimes& times = {});
  // Begins. kUnavailable where the machine has no more threads.
  Status Start();
  // Begins no further movie. The reading of the present one goes on until SegmentService ends.
  void Stop();
  ~IndexAhead() { Stop(); }
  IndexAhead(const IndexAhead&) = delete;
  IndexAhead& operator=(const IndexAhead&) = delete;

  [[nodiscard]] IndexAheadStats stats() const;

 private:
  struct Shared;
  void Run();
  bool Stopping() const;
  void Wait(Duration time);
  // Those to be read; `unsettled`: some others may have to be soon.
  std::vector<Library::Entry> Look(bool& unsettled);
  bool AwaitQuiet();  // false: it ends
  bool HasRoom();     // in the cache of indexes
  void Read(const Library::Entry& movie);
  void Note(const Library::Entry& movie, const Status& read, Duration time);

  const Library& library_;
  SegmentService& segments_;
  const DiskCache& kept_;
  const std::function<Activity()> activity_;
  const IndexAheadTimes times_;
  const std::shared_ptr<Shared> shared_;  // an answer may come when this is gone

  // Of its thread.
  std::map<std::string, Library::Entry> done_with_;  // by path: not to be read as they are
  bool told_full_ = false;
  std::uint64_t requests_ = 0;
  TimePoint last_activity_;

  std::jthread thread_;
};

}  // namespace gopmill
