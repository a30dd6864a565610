// SPDX-License-Identifier: Apache-2.0
#include "server/segments/index_ahead.h"

#include <optional>
#include <utility>

#include "base/log.h"
#include "base/thread.h"

namespace gopmill {
namespace {

// Such an error says nothing about the movie: it is tried again.
bool Passes(Code code) {
  return code == Code::kUnavailable || code == Code::kIo || code == Code::kCancelled;
}

}  // namespace

struct IndexAhead::Shared {
  Mutex mutex;  // guards everything below
  CondVar changed;
  bool stopping GOPMILL_GUARDED_BY(mutex) = false;
  std::optional<Status> read GOPMILL_GUARDED_BY(mutex);
  IndexAheadStats stats GOPMILL_GUARDED_BY(mutex);
};

IndexAhead::IndexAhead(const Library& library, SegmentService& segments, const DiskCache& kept,
                       std::function<Activity()> activity, const IndexAheadTimes& times)
    : library_(library),
      segments_(segments),
      kept_(kept),
      activity_(std::move(activity)),
      times_(times),
      shared_(std::make_shared<Shared>()) {}

Status IndexAhead::Start() {
  GOPMILL_ASSIGN_OR_RETURN(thread_, StartThread([this] { Run(); }));
  return OkStatus();
}

void IndexAhead::Stop() {
  const MutexLock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->changed.NotifyAll();
}

IndexAheadStats IndexAhead::stats() const {
  const MutexLock lock(shared_->mutex);
  return shared_->stats;
}

bool IndexAhead::Stopping() const {
  const MutexLock lock(shared_->mutex);
  return shared_->stopping;
}

void IndexAhead::Wait(Duration time) {
  const TimePoint end = SteadyNow() + time;
  const MutexLock lock(shared_->mutex);
  while (!shared_->stopping && SteadyNow() < end) {
    shared_->changed.WaitFor(shared_->mutex, end - SteadyNow());
  }
}

void IndexAhead::Run() {
  last_activity_ = SteadyNow() - times_.quiet;
  requests_ = activity_().requests;
  while (!Stopping()) {
    bool unsettled = false;
    for (const Library::Entry& movie : Look(unsettled)) {
      if (!AwaitQuiet()) return;
      if (!HasRoom()) break;
      Read(movie);
    }
    Wait(unsettled ? times_.settled : times_.look_again);
  }
}

bool IndexAhead::HasRoom() {
  const bool full = kept_.fill() > kFullestAhead;
  if (full && !std::exchange(told_full_, full)) {
    spdlog::info("library: no more movies are read ahead, the cache of indexes is nearly full");
  }
  told_full_ = full;
  return !full;
}

std::vector<Library::Entry> IndexAhead::Look(bool& unsettled) {
  std::vector<Library::Entry> movies;
  auto entries = library_.List();
  if (!entries.ok()) return movies;  // the log has why
  const std::int64_t now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(WallNow().time_since_epoch()).count();
  std::map<std::string, Library::Entry> still_done_with;
  for (Library::Entry& entry : *entries) {
    if (Stopping()) return {};
    const auto known = done_with_.find(entry.path);
    if (known != done_with_.end() && known->second.IsAs(entry)) {
      still_done_with.insert(done_with_.extract(known));
    } else if (const auto age = now - entry.modified_ns; age >= 0 && age < times_.settled.count()) {
      unsettled = true;
    } else if (!segments_.KeepsIndex(entry)) {
      movies.push_back(std::move(entry));
    }
  }
  done_with_ = std::move(still_done_with);  // no more than the library has
  const MutexLock lock(shared_->mutex);
  shared_->stats.waiting = static_cast<std::int64_t>(movies.size());
  return movies;
}

bool IndexAhead::AwaitQuiet() {
  while (!Stopping()) {
    const Activity now = activity_();
    if (now.busy || now.requests != requests_) last_activity_ = SteadyNow();
    requests_ = now.requests;
    if (SteadyNow() - last_activity_ >= times_.quiet) return true;
    Wait(times_.poll);
  }
  return false;
}

void IndexAhead::Read(const Library::Entry& movie) {
  const TimePoint begun = SteadyNow();
  {
    const MutexLock lock(shared_->mutex);
    shared_->read.reset();
  }
  const PartTicket ticket =
      segments_.OpenAhead(movie.path, [shared = shared_](const Result<MediaPart>& answer) {
        const MutexLock lock(shared->mutex);
        shared->read = answer.ok() ? OkStatus() : Status(answer.error());
        shared->changed.NotifyAll();
      });
  std::optional<Status> read;
  {
    const MutexLock lock(shared_->mutex);
    while (!shared_->read && !shared_->stopping) shared_->changed.Wait(shared_->mutex);
    read = shared_->read;
  }
  if (read) return Note(movie, *read, SteadyNow() - begun);
  segments_.Cancel(ticket);
}

void IndexAhead::Note(const Library::Entry& movie, const Status& read, Duration time) {
  const bool kept = read.ok() && segments_.KeepsIndex(movie);
  if (kept) segments_.Forget(movie.path);  // memory is for who watches
  const bool passes = !read.ok() && Passes(read.error().code);
  if (!kept && !passes) done_with_[movie.path] = movie;
  if (read.ok()) {
    spdlog::info("library: {} was read ahead in {:.1f} s", movie.path, ToSeconds(time));
  } else if (!passes) {  // of others the log has lines already, and they come again
    spdlog::warn("library: {} cannot be read ahead: {}", movie.path, read.error().ToString());
  }
  const MutexLock lock(shared_->mutex);
  ++(read.ok() ? shared_->stats.read : shared_->stats.failed);
  --shared_->stats.waiting;
}

}  // namespace gopmill
