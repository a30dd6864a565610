// SPDX-License-Identifier: Apache-2.0
#include "server/segments/segment_tasks.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gopmill {
namespace {

struct Counts {
  int all = 0, in_folder = 0, here = 0;
};

// Of tasks by place.
Counts Count(const std::map<std::string, int>& tasks, const std::string& place,
             const std::string& folder) {
  Counts counts;
  for (const auto& [at, count] : tasks) {
    counts.all += count;
    if (FolderOf(at) == folder) counts.in_folder += count;
    if (at == place) counts.here += count;
  }
  return counts;
}

}  // namespace

std::string FolderOf(const std::string& path) { return path.substr(0, path.find('/')); }

// Of the packets of the segments that are made there may be more than memory: who would read others
// waits here and not on a thread. What is read from another folder, which may be for ever, counts
// as half of all at most.
bool SegmentTasks::HasRoomFor(const SegmentTask& task, const PacketBytes& out) const {
  if (task.bytes <= most_bytes_ / kSmallMaking) return true;
  std::int64_t all = 0, here = 0;
  const auto add = [&](const std::string& movie, std::int64_t bytes) {
    all += bytes;
    if (movie == task.place) here += bytes;
  };
  for (const auto& [movie, bytes] : out) add(movie, bytes);
  PacketBytes elsewhere;  // by folder
  for (const auto& [movie, bytes] : reading_) {
    const std::string folder = FolderOf(movie);
    if (folder == FolderOf(task.place)) {
      add(movie, bytes);
    } else {
      elsewhere[folder] += bytes;
    }
  }
  for (const auto& [folder, bytes] : elsewhere) all += std::min(bytes, most_bytes_ / 2);
  return all < most_bytes_ || (here == 0 && all < 2 * most_bytes_);
}

bool SegmentTasks::MayRead(const SegmentTask& task) const {
  const std::string folder = FolderOf(task.place);
  const Counts all = Count(Of(TaskPool::kReading).running, task.place, folder);
  if (all.here >= kMaxReadsOfMovie || all.in_folder >= kMaxReadsInFolder) return false;
  if (!task.whole) return true;
  const Counts whole = Count(whole_, task.place, folder);
  return whole.here < kMaxWholeReadsOfMovie && whole.in_folder < kMaxWholeReadsInFolder &&
         whole.all < kMaxWholeReads;
}

bool SegmentTasks::MayRun(TaskPool pool, const SegmentTask& task, const PacketBytes& out) const {
  if (!HasRoomFor(task, out)) return false;
  switch (pool) {
    case TaskPool::kAnswering: {
      const Running& running = Of(pool).running;
      const auto here = running.find(task.place);
      return here == running.end() || here->second < kMaxLooksInFolder;
    }
    case TaskPool::kReading: return MayRead(task);
    case TaskPool::kFinishing:
    case TaskPool::kKeeping: break;
  }
  return true;
}

std::optional<SegmentTask> SegmentTasks::Take(TaskPool pool, const PacketBytes& out) {
  Queue& queue = Of(pool);
  const auto next = std::ranges::find_if(
      queue.waiting, [&](const SegmentTask& task) { return MayRun(pool, task, out); });
  if (next == queue.waiting.end()) return std::nullopt;
  SegmentTask task = std::move(*next);
  queue.waiting.erase(next);
  ++queue.running[task.place];
  if (task.whole) ++whole_[task.place];
  if (task.bytes > 0) reading_[task.place] += task.bytes;
  return task;
}

void SegmentTasks::Ended(TaskPool pool, const SegmentTask& task) {
  const auto one_less = [&](Running& running) {
    const auto found = running.find(task.place);
    GOPMILL_CHECK(found != running.end());
    if (--found->second == 0) running.erase(found);
  };
  one_less(Of(pool).running);
  if (task.whole) one_less(whole_);
  if (task.bytes > 0 && (reading_[task.place] -= task.bytes) == 0) reading_.erase(task.place);
}

std::vector<SegmentTask> SegmentTasks::Remove(
    TaskPool pool, const std::function<bool(const SegmentTask&)>& which) {
  std::deque<SegmentTask>& waiting = Of(pool).waiting;
  const auto first = std::stable_partition(waiting.begin(), waiting.end(),
                                           [&](const SegmentTask& task) { return !which(task); });
  std::vector<SegmentTask> removed(std::make_move_iterator(first),
                                   std::make_move_iterator(waiting.end()));
  waiting.erase(first, waiting.end());
  return removed;
}

std::size_t SegmentTasks::WaitingAt(TaskPool pool, const std::string& place) const {
  const Queue& queue = Of(pool);
  return static_cast<std::size_t>(std::ranges::count(queue.waiting, place, &SegmentTask::place));
}

bool SegmentTasks::empty() const {
  return std::ranges::all_of(
      queues_, [](const Queue& queue) { return queue.waiting.empty() && queue.running.empty(); });
}

}  // namespace gopmill
