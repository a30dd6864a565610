// SPDX-License-Identifier: Apache-2.0
#include "server/session/segment_service.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/log.h"
#include "media/digest.h"
#include "server/session/segment_part.h"
#include "server/session/stream_ids.h"

namespace gopmill {
namespace {

Error Closing() {
  return Error{.code = Code::kUnavailable, .message = "The server is shutting down."};
}

Error Busy() {
  return Error{.code = Code::kUnavailable, .message = "Too many segments are being made."};
}

// RFC 9110 section 13.1.2.
bool Matches(std::string_view if_none_match, std::string_view tag) {
  return if_none_match == "*" || if_none_match.find(tag) != std::string_view::npos;
}

std::uint64_t IdOf(const std::string& text) {
  std::uint64_t hash = 0;
  const std::string digest = Sha256Hex(text).substr(0, 15);
  std::from_chars(digest.data(), digest.data() + digest.size(), hash, 16);
  return hash | kSegmentIds;
}

}  // namespace

SegmentService::SegmentService(const Library& library, ScriptShelf& scripts, Scheduler& scheduler,
                               const SegmentOptions& options,
                               std::shared_ptr<UnitObserver> observer)
    : defaults_(options.defaults),
      scheduler_(scheduler),
      shelf_(library, scripts),
      cache_(SegmentCache::Open(options.cache_folder, options.cache_bytes)),
      observer_(std::move(observer)) {
  for (int i = 0; i < kSegmentThreads; ++i) threads_.emplace_back([this] { RunTasks(); });
}

SegmentService::~SegmentService() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    for (const auto& [key, making] : making_) making->stop.request_stop();
  }
  reading_.request_stop();
  changed_.NotifyAll();
  {
    const MutexLock lock(mutex_);
    while (jobs_out_ > 0) changed_.Wait(mutex_);
  }
  threads_.clear();  // joins; what was waiting has been answered
}

PartTicket SegmentService::Open(PartRequest request, PartCallback done) {
  Waiting waiting{.request = std::move(request), .done = std::move(done)};
  bool full = false;
  {
    const MutexLock lock(mutex_);
    waiting.ticket = next_ticket_++;
    full = stopping_ || tasks_.size() >= kMaxPartRequests;
    if (!full) {
      open_[waiting.ticket] = false;
      tasks_.emplace_back([this, waiting] { Answer(waiting); });
    }
  }
  if (full) {
    waiting.done(Busy());
  } else {
    changed_.NotifyAll();
  }
  return waiting.ticket;
}

void SegmentService::Cancel(PartTicket ticket) {
  const MutexLock lock(mutex_);
  if (const auto found = open_.find(ticket); found != open_.end()) {
    if (!std::exchange(found->second, true)) ++stats_.cancelled;
    return;
  }
  for (auto at = making_.begin(); at != making_.end(); ++at) {
    auto& waiters = at->second->waiters;
    if (std::erase_if(waiters, [&](const Waiter& w) { return w.ticket == ticket; }) == 0) continue;
    ++stats_.cancelled;
    if (!waiters.empty()) return;
    at->second->stop.request_stop();
    making_.erase(at);  // who asks from now on gets a new one
    return;
  }
}

void SegmentService::RunTasks() {
  while (true) {
    std::function<void()> task;
    {
      const MutexLock lock(mutex_);
      while (tasks_.empty() && !(stopping_ && jobs_out_ == 0)) changed_.Wait(mutex_);
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
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
    if (!part.ok() && part.error().code != Code::kCancelled) ++stats_.failed;
    if (part.ok() && part->not_modified) ++stats_.not_modified;
  }
  waiting.done(std::move(part));
}

// On a thread of its own: everything that reads files.
void SegmentService::Answer(Waiting waiting) {
  if (Left(waiting.ticket)) return Reply(waiting, Error{Code::kCancelled, "Cancelled."});
  {
    const MutexLock lock(mutex_);
    if (stopping_) return Reply(waiting, Closing());
  }
  const PartRequest& request = waiting.request;
  const auto name = ParsePartName(request.name);
  if (!name.ok()) return Reply(waiting, name.error());
  const auto parsed = ParseSegmentParams(request.params, defaults_);
  if (!parsed.ok()) return Reply(waiting, parsed.error());
  const auto service_class = scheduler_.ClassOf(parsed->target.service_class.value_or(""));
  if (!service_class.ok()) return Reply(waiting, service_class.error());
  waiting.service_class = *service_class;
  const auto shelved = shelf_.Get(request.path, *parsed, request.params, reading_.get_token());
  if (!shelved.ok()) return Reply(waiting, shelved.error());
  const SegmentedMovie& movie = *shelved->movie;
  const std::string& version =
      name->track == PartTrack::kSubtitles ? movie.text_version : movie.version;
  if (!parsed->version.empty() && parsed->version != version) {
    return Reply(waiting,
                 Error{.code = Code::kNotFound,
                       .message = "The movie has been replaced; ask for its playlist again.",
                       .parameter = "version",
                       .accepted = version});
  }
  if (const Status status = CheckPart(movie, *name); !status.ok()) {
    return Reply(waiting, status.error());
  }
  if (!IsAtHand(*name))
    return AnswerSegment(*shelved, *name, !parsed->version.empty(), std::move(waiting));
  std::vector<SoundOf> sounds;
  if (name->kind == PartKind::kManifest) {  // it tells the times of all sound tracks
    const auto shelved_sounds =
        shelf_.Sounds(*shelved, *parsed, request.params, reading_.get_token());
    if (!shelved_sounds.ok()) return Reply(waiting, shelved_sounds.error());
    for (const Shelved& sound : *shelved_sounds) sounds.push_back(sound.movie);
  }
  auto part = TextPart(movie, *name, sounds);
  // Without a version in it, an address is that of another file's part one day.
  if (part.ok() && parsed->version.empty()) part->max_age_seconds = 0;
  if (part.ok() && Matches(request.if_none_match, part->etag)) {
    part->not_modified = true;
    part->bytes = nullptr;
  }
  {
    const MutexLock lock(mutex_);
    ++stats_.playlists;
  }
  Reply(waiting, std::move(part));
}

// The tag is known before the bytes are: they are a function of what the key names.
void SegmentService::AnswerSegment(const Shelved& movie, const PartName& name, bool versioned,
                                   Waiting waiting) {
  const std::string key =
      Sha256Hex(TrackOf(*movie.movie, name).identity + ";" + std::to_string(name.number));
  MediaPart part{.content_type = SegmentType(name),
                 .etag = TagOf(key),
                 .bytes = nullptr,
                 .not_modified = Matches(waiting.request.if_none_match, TagOf(key)),
                 .max_age_seconds = versioned ? kSegmentAgeSeconds : 0};
  if (part.not_modified) return Reply(waiting, std::move(part));
  if (auto bytes = cache_->Get(key)) {
    part.bytes = std::make_shared<const std::string>(*std::move(bytes));
    {
      const MutexLock lock(mutex_);
      ++stats_.segments;
    }
    return Reply(waiting, std::move(part));
  }
  std::shared_ptr<Making> making;
  bool first = false;
  const Status joined = Join(key, waiting, std::move(part), making, first);
  if (!joined.ok()) return Reply(waiting, joined.error());
  if (first) StartMaking(movie, name, key, making);
}

// Puts the request to those who wait for the segment; `first` if there were none.
Status SegmentService::Join(const std::string& key, const Waiting& waiting, MediaPart part,
                            std::shared_ptr<Making>& making, bool& first) {
  const MutexLock lock(mutex_);
  if (open_[waiting.ticket]) return Error{.code = Code::kCancelled, .message = "Cancelled."};
  const auto found = making_.find(key);
  first = found == making_.end();
  if (first && making_.size() >= kMaxSegmentsMaking) return Busy();
  making = first ? (making_[key] = std::make_shared<Making>()) : found->second;
  if (first) making->service_class = waiting.service_class;
  making->waiters.push_back({waiting.ticket, waiting.done, std::move(part)});
  open_.erase(waiting.ticket);
  ++(first ? stats_.made : stats_.shared);
  return OkStatus();
}

void SegmentService::StartMaking(const Shelved& movie, const PartName& name, const std::string& key,
                                 const std::shared_ptr<Making>& making) {
  auto work = ReadWork(movie, name);
  if (!work.ok()) return Finish(key, making, work.error());
  const Status status = Submit(*std::move(work), key, making);
  if (!status.ok()) Finish(key, making, status.error());
}

Result<SegmentWork> SegmentService::ReadWork(const Shelved& movie, const PartName& name) {
  GOPMILL_ASSIGN_OR_RETURN(auto reader, shelf_.Reader(movie, reading_.get_token()));
  GOPMILL_ASSIGN_OR_RETURN(SegmentWork work, ReadSegmentWork(movie.movie, name, *reader));
  movie.file->GiveReader(std::move(reader));
  return work;
}

// All segments of one rendition in one class are a stream: within it they go in the order in which
// they were asked for. All its classes find the same warm contexts.
JobSpec SegmentService::NewJob(const SegmentWork& work, std::uint16_t service_class) {
  const std::string& rendition = TrackOf(*work.movie, work.name).identity;
  const StreamId stream{IdOf(rendition + ";class=" + std::to_string(service_class))};
  const Duration within = scheduler_.classes()[service_class].deadline;
  return {.unit = {stream, UnitIndex{next_unit_++}},
          .stream_number = stream.value,
          .cost_bytes = static_cast<std::size_t>(work.bytes()) + 1,
          .frames = static_cast<std::uint32_t>(work.frames()),
          .service_class = service_class,
          .context = IdOf(rendition),
          .deadline = within > Duration::zero() ? SteadyNow() + within : kNoDeadline};
}

Status SegmentService::Submit(SegmentWork work, const std::string& key,
                              const std::shared_ptr<Making>& making) {
  const bool keeps_contexts = work.name.track != PartTrack::kAudio;
  const MutexLock lock(mutex_);  // units of one stream are submitted one after the other
  const JobSpec spec = NewJob(work, making->service_class);
  std::vector<SegmentWork> works;
  works.push_back(std::move(work));
  auto job = std::make_unique<SegmentJob>(
      std::move(works), /*awaited=*/true, making->stop.get_token(),
      [this, spec, keeps_contexts, key, making](const JobReport& report,
                                                Result<MadeSegments> made) {
        if (observer_) {
          observer_->OnEnded({.spec = spec,
                              .report = report,
                              .stats = made.ok() ? made->stats : UnitStats{},
                              .keeps_contexts = keeps_contexts});
        }
        OnMade(std::move(made), key, making);
      });
  ++jobs_out_;
  Status status = scheduler_.Submit(spec, std::move(job));
  if (!status.ok()) --jobs_out_;
  return status;
}

void SegmentService::OnMade(Result<MadeSegments> made, const std::string& key,
                            const std::shared_ptr<Making>& making) {
  Result<std::string> result =
      made.ok() ? Result<std::string>(std::move(made->bytes.front())) : made.error();
  // Told under the lock: without jobs the service may be destroyed.
  const MutexLock lock(mutex_);
  if (made.ok()) {
    stats_.concealed += static_cast<std::uint64_t>(made->stats.damage.concealed);
    stats_.patched += static_cast<std::uint64_t>(made->stats.damage.patched);
  }
  tasks_.emplace_front(
      [this, key, making, result = std::move(result)] { Finish(key, making, result); });
  --jobs_out_;
  changed_.NotifyAll();
}

// Answers all who wait, then keeps the segment for the next.
void SegmentService::Finish(const std::string& key, const std::shared_ptr<Making>& making,
                            const Result<std::string>& bytes) {
  std::vector<Waiter> waiters;
  {
    const MutexLock lock(mutex_);
    waiters.swap(making->waiters);
    const auto found = making_.find(key);
    if (found != making_.end() && found->second == making) making_.erase(found);
    if (bytes.ok()) stats_.segments += waiters.size();
    if (!bytes.ok()) stats_.failed += waiters.size();
  }
  std::shared_ptr<const std::string> shared;
  if (bytes.ok()) shared = std::make_shared<const std::string>(*bytes);
  if (!bytes.ok() && bytes.error().code != Code::kCancelled) {
    spdlog::warn("a segment could not be made: {}", bytes.error().ToString());
  }
  for (Waiter& waiter : waiters) {
    waiter.part.bytes = shared;
    if (bytes.ok()) {
      waiter.done(std::move(waiter.part));
    } else {
      waiter.done(bytes.error());
    }
  }
  if (bytes.ok()) cache_->Put(key, *bytes);
}

SegmentStats SegmentService::stats() const {
  const MutexLock lock(mutex_);
  SegmentStats stats = stats_;
  stats.making = static_cast<std::int64_t>(making_.size());
  stats.cache = cache_->stats();
  return stats;
}

}  // namespace gopmill
