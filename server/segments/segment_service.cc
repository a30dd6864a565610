// SPDX-License-Identifier: Apache-2.0
#include "server/segments/segment_service.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/entity_tag.h"
#include "base/log.h"
#include "base/thread.h"
#include "media/digest.h"
#include "server/api/refusals.h"
#include "server/segments/segment_part.h"

namespace gopmill {
SegmentService::SegmentService(const Library& library, ScriptShelf& scripts, Scheduler& scheduler,
                               const SegmentOptions& options,
                               std::shared_ptr<UnitObserver> observer)
    : defaults_(options.defaults),
      scheduler_(scheduler),
      shelf_(library, scripts, options.indexer, KeptIndexes(options.movies)),
      cache_(DiskCache::Open(options.cache_folder, options.cache_bytes)),
      most_keeping_(options.keeping_bytes),
      observer_(std::move(observer)),
      tasks_(options.making_bytes) {}

Status SegmentService::Start() {
  constexpr std::array<std::pair<TaskPool, int>, kTaskPools> kThreads{
      {{TaskPool::kAnswering, kAnswerThreads},
       {TaskPool::kReading, kReadThreads},
       {TaskPool::kFinishing, 1},
       {TaskPool::kKeeping, 1}}};
  for (const auto& [pool, count] : kThreads) {
    for (int i = 0; i < count; ++i) {
      GOPMILL_ASSIGN_OR_RETURN(auto thread, StartThread([this, pool = pool] { RunTasks(pool); }));
      threads_.push_back(std::move(thread));
    }
  }
  return OkStatus();
}

SegmentService::~SegmentService() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    late_ = SteadyNow() + kLongEnd;
    making_.StopAll();
  }
  reading_.request_stop();
  changed_.NotifyAll();
  {
    const MutexLock lock(mutex_);
    const auto& jobs = making_.jobs_out();
    while (!jobs.empty() && SteadyNow() < late_) changed_.WaitFor(mutex_, late_ - SteadyNow());
    for (const auto& making : jobs) spdlog::warn("segment {} does not end", making->part);
    while (!jobs.empty()) changed_.Wait(mutex_);
  }
  threads_.clear();  // joins; what was waiting has been answered
}

PartTicket SegmentService::Open(PartRequest request, PartCallback done) {
  return Admit({.request = std::move(request), .done = std::move(done)});
}

PartTicket SegmentService::OpenAhead(const std::string& path, PartCallback done) {
  PartRequest request{.path = path, .name = "master.m3u8", .params = {}, .if_none_match = ""};
  return Admit({.request = std::move(request), .done = std::move(done), .ahead = true});
}

PartTicket SegmentService::Admit(Waiting waiting) {
  std::optional<Error> refused;
  {
    const MutexLock lock(mutex_);
    waiting.ticket = next_ticket_++;
    SegmentTask task = AnswerTask(waiting);
    const std::size_t here = WaitingIn(task.place);
    if (stopping_) {
      refused = ShuttingDown();
    } else if (open_.size() >= kMaxPartRequests || here >= kMaxWaitingInFolder) {
      refused = TooManyWait();
    } else {
      open_[waiting.ticket] = false;
      tasks_.Add(TaskPool::kAnswering, std::move(task));
    }
  }
  if (refused) {
    waiting.done(*refused);
  } else {
    changed_.NotifyAll();
  }
  return waiting.ticket;
}

std::size_t SegmentService::WaitingIn(const std::string& folder) const {
  std::size_t count = tasks_.WaitingAt(TaskPool::kAnswering, folder);
  for (const auto& [key, parked] : parked_) {
    if (!parked.empty() && FolderOf(parked.front().request.path) == folder) count += parked.size();
  }
  return count;
}

void SegmentService::Cancel(PartTicket ticket) {
  std::vector<SegmentTask> removed;
  const MutexLock lock(mutex_);
  if (const auto found = open_.find(ticket); found != open_.end()) {
    if (!std::exchange(found->second, true)) ++stats_.cancelled;
    const auto leaves = [&](const Waiting& w) { return w.ticket == ticket; };
    for (auto& [key, waiting] : parked_) {  // its place is free at once
      if (std::erase_if(waiting, leaves) > 0) open_.erase(ticket);
    }
    const auto is_for_it = [&](const SegmentTask& task) { return task.ticket == ticket; };
    removed = tasks_.Remove(TaskPool::kAnswering, is_for_it);
    if (!removed.empty()) open_.erase(ticket);
    return changed_.NotifyAll();
  }
  const MakingTable::Leaving leaving = making_.Leave(ticket);
  if (!leaving.waited) return;
  ++stats_.cancelled;
  if (leaving.given_up == nullptr) return;
  const auto begins_it = [&](const SegmentTask& t) { return t.making == leaving.given_up.get(); };
  removed = tasks_.Remove(TaskPool::kReading, begins_it);
  changed_.NotifyAll();
}

SegmentTask SegmentService::AnswerTask(const Waiting& waiting) {
  return {.place = FolderOf(waiting.request.path),
          .run = [this, waiting] { Answer(waiting); },
          .ticket = waiting.ticket};
}

void SegmentService::AddTask(TaskPool pool, SegmentTask task) {
  {
    const MutexLock lock(mutex_);
    tasks_.Add(pool, std::move(task));
  }
  changed_.NotifyAll();
}

// Nothing that is left could add to the tasks.
bool SegmentService::Over() const {
  return stopping_ && making_.jobs_out().empty() && tasks_.empty();
}

// For one of those that read movies, each time that it is due.
bool SegmentService::ClosesNow(TaskPool pool) {
  const TimePoint now = SteadyNow();
  if (pool != TaskPool::kReading || now < closing_) return false;
  closing_ = now + kReaderIdle;
  return true;
}

void SegmentService::CloseReaders(TimePoint time) {
  runs_.Drop(time);
  Close(shelf_.TakeIdle(time));
}

// Each file by a task of its own, so that a disk that hangs has not all threads.
void SegmentService::Close(std::vector<MovieShelf::Unused> files) {
  for (MovieShelf::Unused& unused : files) {
    const auto readers = std::make_shared<ShelvedFile::Readers>(std::move(unused.readers));
    AddTask(TaskPool::kReading,
            {.place = std::move(unused.path), .run = [readers] { readers->clear(); }});
  }
}

void SegmentService::RunTasks(TaskPool pool) {
  while (true) {
    std::optional<SegmentTask> task;
    bool closes = false;
    {
      const MutexLock lock(mutex_);
      while (!(closes = ClosesNow(pool)) && !(task = tasks_.Take(pool, making_.bytes_out()))) {
        if (Over()) return;
        if (pool == TaskPool::kReading) {
          changed_.WaitFor(mutex_, closing_ - SteadyNow());
        } else {
          changed_.Wait(mutex_);
        }
      }
    }
    if (closes) CloseReaders(SteadyNow() - kReaderIdle);
    if (!task) continue;
    task->run();
    task->run = nullptr;  // what it holds belongs to its place, too
    Close(shelf_.TakeUnshelved());
    {
      const MutexLock lock(mutex_);
      tasks_.Ended(pool, *task);
    }
    changed_.NotifyAll();
  }
}

bool SegmentService::Left(PartTicket ticket) {
  const MutexLock lock(mutex_);
  const auto found = open_.find(ticket);
  return found == open_.end() || found->second;
}

void SegmentService::Reply(const Waiting& waiting, Result<MediaPart> part) {
  {
    const MutexLock lock(mutex_);
    open_.erase(waiting.ticket);
    if (!waiting.ahead && !part.ok() && part.error().code != Code::kCancelled) ++stats_.failed;
    if (part.ok() && part->not_modified) ++stats_.not_modified;
  }
  waiting.done(std::move(part));
}

void SegmentService::Answer(Waiting waiting) {
  if (Left(waiting.ticket)) return Reply(waiting, Cancelled());
  if (reading_.stop_requested()) return Reply(waiting, ShuttingDown());
  const PartRequest& request = waiting.request;
  const auto name = ParsePartName(request.name);
  if (!name.ok()) return Reply(waiting, name.error());
  const auto parsed = ParseSegmentParams(request.params, defaults_);
  if (!parsed.ok()) return Reply(waiting, parsed.error());
  const auto service_class =
      scheduler_.ClassOf(request.service_class.empty() ? parsed->target.service_class.value_or("")
                                                       : request.service_class);
  if (!service_class.ok()) return Reply(waiting, service_class.error());
  waiting.service_class = *service_class;
  const Ask ask{.name = *name, .parsed = *parsed};
  const auto known = shelf_.Known(request.path, request.params);
  if (!known.ok()) return Reply(waiting, known.error());
  if (!*known) return ReadMovie(std::move(waiting), ask);
  AnswerFrom(**known, std::move(waiting), ask);
}

void SegmentService::AnswerFrom(const Shelved& shelved, Waiting waiting, const Ask& ask) {
  const SegmentedMovie& movie = *shelved.movie;
  const std::string& asked = ask.parsed.version;
  const std::string& version =
      ask.name.track == PartTrack::kSubtitles ? movie.text_version : movie.version;
  if (!asked.empty() && asked != version) {
    return Reply(waiting,
                 Error{.code = Code::kNotFound,
                       .message = "The movie has been replaced; ask for its playlist again.",
                       .parameter = "version",
                       .accepted = version});
  }
  if (const Status status = CheckPart(movie, ask.name); !status.ok()) {
    return Reply(waiting, status.error());
  }
  if (ask.name.kind == PartKind::kManifest) {
    return AnswerManifest(shelved, std::move(waiting), ask);
  }
  if (IsAtHand(ask.name)) return AnswerText(shelved, waiting, ask);
  AnswerSegment(shelved, ask.name, !asked.empty(), std::move(waiting));
}

void SegmentService::AnswerText(const Shelved& shelved, const Waiting& waiting, const Ask& ask,
                                const std::vector<SoundOf>& sounds) {
  ReplyText(waiting, ask, TextPart(*shelved.movie, ask.name, sounds));
}

void SegmentService::ReplyText(const Waiting& waiting, const Ask& ask, Result<MediaPart> part) {
  // Without a version in it, an address is that of another file's part one day.
  if (part.ok() && ask.parsed.version.empty()) part->max_age_seconds = 0;
  if (part.ok() && NamesTag(waiting.request.if_none_match, part->etag)) {
    part->not_modified = true;
    part->bytes = nullptr;
  }
  if (!waiting.ahead) {
    const MutexLock lock(mutex_);
    ++stats_.playlists;
  }
  Reply(waiting, std::move(part));
}

// The tag is known before the bytes are: they are a function of what the key names.
void SegmentService::AnswerSegment(const Shelved& movie, const PartName& name, bool versioned,
                                   Waiting waiting) {
  const std::string key = KeyOf(*movie.movie, name);
  MediaPart part{.content_type = SegmentType(name),
                 .etag = TagOf(key),
                 .bytes = nullptr,
                 .not_modified = NamesTag(waiting.request.if_none_match, TagOf(key)),
                 .max_age_seconds = versioned ? kSegmentAgeSeconds : 0};
  if (part.not_modified) return Reply(waiting, std::move(part));
  if (auto bytes = Kept(key)) {
    part.bytes = std::move(bytes);
    {
      const MutexLock lock(mutex_);
      ++stats_.segments;
    }
    return Reply(waiting, std::move(part));
  }
  const auto joined = Join(key, waiting, std::move(part));
  if (!joined.ok()) return Reply(waiting, joined.error());
  if (!joined->first) return;
  const auto& making = joined->making;
  making->bytes = WorkBytes(*movie.movie, name);
  AddTask(TaskPool::kReading,
          {.place = movie.path,
           .run = [this, movie, name, key, making] { StartMaking(movie, name, key, making); },
           .making = making.get(),
           .bytes = making->bytes});
}

SegmentStats SegmentService::stats() const {
  const MutexLock lock(mutex_);
  SegmentStats stats = stats_;
  stats.making = static_cast<std::int64_t>(making_.size());
  stats.unanswered = static_cast<std::int64_t>(open_.size());
  stats.run_bytes = runs_.bytes();
  stats.cache = cache_->stats();  // with what has not come there
  stats.cache.hits += stats_.cache.hits;
  stats.cache.failed += stats_.cache.failed;
  return stats;
}

}  // namespace gopmill
