// SPDX-License-Identifier: Apache-2.0
//
// What the threads of the segment service have to do, and which of it may be done next: bounded by
// the place that it reads or closes, so that a disk that hangs has not all threads. Pure: no lock,
// no thread.
//
// Thread-safety: compatible; SegmentService guards it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/api/service.h"

namespace gopmill {

inline constexpr int kAnswerThreads = 6, kReadThreads = 6;
// Look-ups at once in one folder at the library's top; reads of one movie, and in one such folder.
inline constexpr int kMaxLooksInFolder = 2, kMaxReadsOfMovie = 2, kMaxReadsInFolder = 4;
// Those of them that read a movie to its end, which takes minutes: of one movie, in one folder, and
// in all. What else is read there, the packets of a segment, has the rest: a viewer does not wait
// for movies that others open.
inline constexpr int kMaxWholeReadsOfMovie = 1, kMaxWholeReadsInFolder = kMaxReadsInFolder - 2,
                     kMaxWholeReads = kReadThreads - 2;

// The folder at the library's top that a movie lies in, or the movie that lies there itself.
std::string FolderOf(const std::string& path);

// Of the source's packets of all segments that are being made, from when reading them begins until
// the job has ended. So that nobody's large ones keep out those of others, a movie that has none
// may have one up to twice as many, and segments of at most 1/kSmallMaking are not held back.
inline constexpr std::int64_t kMaxMakingBytes = std::int64_t{512} << 20U;
inline constexpr std::int64_t kSmallMaking = 128;

// Of packets, by movie.
using PacketBytes = std::map<std::string, std::int64_t>;

enum class TaskPool : std::size_t { kAnswering, kReading, kFinishing, kKeeping };
inline constexpr std::size_t kTaskPools = 4;

struct SegmentTask {
  std::string place;  // that it reads or closes, if it does: a movie, of kAnswering its folder
  std::function<void()> run;
  PartTicket ticket = 0;         // of kAnswering: the request that it is for
  const void* making = nullptr;  // of kReading: the segment that it begins, if any
  std::int64_t bytes = 0;        // of the packets that it reads for that one
  bool whole = false;            // of kReading: it reads its movie to the end
};

class SegmentTasks {
 public:
  // `most_bytes`: of packets, kMaxMakingBytes.
  explicit SegmentTasks(std::int64_t most_bytes = kMaxMakingBytes) : most_bytes_(most_bytes) {}

  void Add(TaskPool pool, SegmentTask task) { Of(pool).waiting.push_back(std::move(task)); }
  // The first that may run now, if any; it runs until Ended. `out`: packets that have been read
  // and are still there.
  std::optional<SegmentTask> Take(TaskPool pool, const PacketBytes& out = {});
  void Ended(TaskPool pool, const SegmentTask& task);
  // Takes waiting ones out. To be destroyed without a lock: what they hold may be large.
  std::vector<SegmentTask> Remove(TaskPool pool,
                                  const std::function<bool(const SegmentTask&)>& which);
  [[nodiscard]] std::size_t WaitingAt(TaskPool pool, const std::string& place) const;
  // None waits, and none runs.
  [[nodiscard]] bool empty() const;

 private:
  using Running = std::map<std::string, int>;  // by place
  struct Queue {
    std::deque<SegmentTask> waiting;
    Running running;
  };
  Queue& Of(TaskPool pool) { return queues_.at(static_cast<std::size_t>(pool)); }
  [[nodiscard]] const Queue& Of(TaskPool pool) const {
    return queues_.at(static_cast<std::size_t>(pool));
  }
  [[nodiscard]] bool HasRoomFor(const SegmentTask& task, const PacketBytes& out) const;
  [[nodiscard]] bool MayRead(const SegmentTask& task) const;
  [[nodiscard]] bool MayRun(TaskPool pool, const SegmentTask& task, const PacketBytes& out) const;

  const std::int64_t most_bytes_;
  PacketBytes reading_;  // of tasks that run
  std::array<Queue, kTaskPools> queues_;
  Running whole_;  // of those that run in kReading
};

}  // namespace gopmill
