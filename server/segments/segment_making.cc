// SPDX-License-Identifier: Apache-2.0
//
// The part of SegmentService that makes a segment: from the first request that joins it, over its
// packets and its job, to those who waited for it.
#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "media/digest.h"
#include "server/segments/segment_service.h"
#include "server/stream/stream_ids.h"

namespace gopmill {
namespace {

Error Busy() {
  return Error{.code = Code::kUnavailable, .message = "Too many segments are being made."};
}

std::uint64_t IdOf(const std::string& text) {
  std::uint64_t hash = 0;
  const std::string digest = Sha256Hex(text).substr(0, 15);
  std::from_chars(digest.data(), digest.data() + digest.size(), hash, 16);
  return hash | kSegmentIds;
}

}  // namespace

Result<MakingTable::Joined> SegmentService::Join(const std::string& key, const Waiting& waiting,
                                                 MediaPart part) {
  const MutexLock lock(mutex_);
  if (open_[waiting.ticket]) return Cancelled();
  auto joined = making_.Join(key, {waiting.ticket, waiting.done, std::move(part)}, waiting.request,
                             waiting.service_class);
  if (!joined) return Busy();
  open_.erase(waiting.ticket);
  ++(joined->first ? stats_.made : stats_.shared);
  return *std::move(joined);
}

void SegmentService::StartMaking(const Shelved& movie, const PartName& name, const std::string& key,
                                 const std::shared_ptr<Making>& making) {
  if (making->stop.stop_requested()) {  // all have left before its turn came
    return Finish(key, making, Cancelled());
  }
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
  return {.unit = {stream, UnitIndex{next_unit_++}},
          .stream_number = stream.value,
          .cost_bytes = static_cast<std::size_t>(work.bytes()) + 1,
          .frames = static_cast<std::uint32_t>(work.frames()),
          .service_class = service_class,
          .context = IdOf(rendition),
          .deadline = scheduler_.DeadlineOf(service_class)};
}

Status SegmentService::Submit(SegmentWork work, const std::string& key,
                              const std::shared_ptr<Making>& making) {
  const bool keeps_contexts = work.name.track != PartTrack::kAudio;
  const MutexLock lock(mutex_);  // units of one stream are submitted one after the other
  if (making->stop.stop_requested()) return Cancelled();  // all have left while it was read
  const JobSpec spec = NewJob(work, making->service_class);
  std::vector<SegmentWork> works;
  works.push_back(std::move(work));
  auto job = std::make_unique<SegmentJob>(
      std::move(works), runs_, /*awaited=*/true, making->stop.get_token(),
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
  Status status = scheduler_.Submit(spec, std::move(job));
  if (status.ok()) making_.JobOut(making);  // its end waits for the lock
  return status;
}

void SegmentService::OnMade(Result<MadeSegments> made, const std::string& key,
                            const std::shared_ptr<Making>& making) {
  const auto result =
      made.ok() ? Result<Bytes>(std::make_shared<const std::string>(std::move(made->bytes.front())))
                : Result<Bytes>(made.error());
  // Told under the lock: without jobs the service may be destroyed.
  const MutexLock lock(mutex_);
  if (made.ok()) {
    stats_.concealed += static_cast<std::uint64_t>(made->stats.damage.concealed);
    stats_.patched += static_cast<std::uint64_t>(made->stats.damage.patched);
    stats_.went_on += made->went_on ? 1U : 0U;
  }
  tasks_.Add(TaskPool::kFinishing,
             {.place = {}, .run = [this, key, making, result] { Finish(key, making, result); }});
  making_.JobEnded(making);
  changed_.NotifyAll();
}

// Answers all who wait; who comes from now on finds it kept.
void SegmentService::Finish(const std::string& key, const std::shared_ptr<Making>& making,
                            const Result<Bytes>& bytes) {
  std::vector<SegmentWaiter> waiters;
  {
    const MutexLock lock(mutex_);
    waiters = making_.Finish(key, *making);
    if (bytes.ok()) stats_.segments += waiters.size();
    if (bytes.ok()) Keep(key, *bytes);
    if (!bytes.ok()) stats_.failed += waiters.size();
  }
  changed_.NotifyAll();
  if (!bytes.ok() && bytes.error().code != Code::kCancelled) {
    spdlog::warn("{} could not be made: {}", making->part, bytes.error().ToString());
  }
  for (SegmentWaiter& waiter : waiters) {
    if (bytes.ok()) {
      waiter.part.bytes = *bytes;
      waiter.done(std::move(waiter.part));
    } else {
      waiter.done(bytes.error());
    }
  }
}

void SegmentService::Keep(const std::string& key, const Bytes& bytes) {
  const std::size_t size = bytes->size();
  if (!cache_->Takes(size)) return;
  if (!keeping_.empty() && keeping_bytes_ + size > most_keeping_) {
    ++stats_.cache.failed;
    return;
  }
  if (!keeping_.emplace(key, bytes).second) return;
  keeping_bytes_ += size;
  tasks_.Add(TaskPool::kKeeping,
             {.place = {}, .run = [this, key, bytes] { WriteKept(key, bytes); }});
}

// Not at an end that takes long: a disk that is slow would make it longer.
void SegmentService::WriteKept(const std::string& key, const Bytes& bytes) {
  bool late = false;
  {
    const MutexLock lock(mutex_);
    late = SteadyNow() > late_;
  }
  if (!late) cache_->Put(key, bytes);
  const MutexLock lock(mutex_);
  keeping_.erase(key);
  keeping_bytes_ -= bytes->size();
}

SegmentService::Bytes SegmentService::Kept(const std::string& key) {
  {
    const MutexLock lock(mutex_);
    if (const auto found = keeping_.find(key); found != keeping_.end()) {
      ++stats_.cache.hits;
      return found->second;
    }
  }
  return cache_->Get(key);
}

}  // namespace gopmill
