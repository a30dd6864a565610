// SPDX-License-Identifier: Apache-2.0
#include "server/live/live_segments.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/thread.h"
#include "server/api/refusals.h"

namespace gopmill {
namespace {

// How late a time limit is noticed.
constexpr std::chrono::milliseconds kTick{200};

}  // namespace

LiveSegments::LiveSegments(const LiveSegmentOptions& options, Scheduler& scheduler, LiveHooks hooks)
    : options_(options),
      scheduler_(scheduler),
      hooks_(std::move(hooks)),
      thumbnails_(scheduler, hooks_.observer) {
  // Versions of an earlier process are not taken for ours.
  next_version_ =
      static_cast<std::uint64_t>(WallNow().time_since_epoch() / std::chrono::milliseconds(1));
}

Status LiveSegments::Start() {
  GOPMILL_ASSIGN_OR_RETURN(thread_, StartThread([this] { Run(); }));
  return OkStatus();
}

LiveSegments::~LiveSegments() { Stop(); }

void LiveSegments::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  if (thread_.joinable()) thread_.join();
  thumbnails_.Stop();
}

PartTicket LiveSegments::Open(PartRequest request, PartCallback done) {
  PartTicket ticket = 0;
  std::optional<Error> refused;
  {
    const MutexLock lock(mutex_);
    ticket = ++next_ticket_;
    if (stopping_) {
      refused = ShuttingDown();
    } else if (fresh_.size() + stats_.waiting >= kMaxLiveWaiting) {
      refused = TooManyWait();
    } else {
      fresh_.push_back({ticket, std::move(request), done});
    }
    if (refused) ++stats_.refused;
  }
  if (refused) {
    done(*refused);
    return ticket;
  }
  changed_.NotifyAll();
  return ticket;
}

void LiveSegments::Cancel(PartTicket ticket) {
  const MutexLock lock(mutex_);
  left_.insert(ticket);
}

void LiveSegments::Wake() {
  {
    const MutexLock lock(mutex_);
    news_ = true;
  }
  changed_.NotifyAll();
}

// Waits for something to do; false at the end.
bool LiveSegments::Take(std::deque<Fresh>& fresh, std::unordered_set<PartTicket>& left) {
  const MutexLock lock(mutex_);
  if (fresh_.empty() && !news_ && !stopping_) changed_.WaitFor(mutex_, kTick);
  news_ = false;
  fresh.swap(fresh_);
  stats_.waiting += fresh.size();  // until they are answered or wait
  left.swap(left_);
  return !stopping_;
}

void LiveSegments::Run() {
  bool going_on = true;
  while (going_on) {
    std::deque<Fresh> fresh;
    std::unordered_set<PartTicket> left;
    going_on = Take(fresh, left);
    std::erase_if(waiting_, [&](const Waiting& w) { return left.contains(w.ticket); });
    for (Fresh& request : fresh) {
      if (!going_on) Reply(request.done, ShuttingDown());
      if (going_on && !left.contains(request.ticket)) Accept(std::move(request));
    }
    if (going_on) AnswerWaiting();
    if (going_on) BeginStanding();
    EndIdle();
    const MutexLock lock(mutex_);
    stats_.waiting = waiting_.size();
    stats_.presentations = running_.size();
    stats_.bytes = 0;
    for (const auto& [key, running] : running_) stats_.bytes += running->presentation->bytes();
  }
  for (const Waiting& waiting : waiting_) Reply(waiting.done, ShuttingDown());
  waiting_.clear();
  for (const auto& [key, running] : running_) StopStreams(*running);
  running_.clear();
}

void LiveSegments::Reply(const PartCallback& done, Result<MediaPart> part) {
  {
    const MutexLock lock(mutex_);
    ++stats_.answered;
  }
  done(std::move(part));
}

void LiveSegments::Accept(Fresh fresh) {
  auto request = ParseLiveRequest(fresh.request, options_.defaults);
  if (!request.ok()) return Reply(fresh.done, request.error());
  Waiting waiting{.ticket = fresh.ticket,
                  .request = std::move(request).value(),
                  .running = nullptr,
                  .done = std::move(fresh.done),
                  .deadline = {}};
  if (auto answer = Answer(waiting)) return Reply(waiting.done, *std::move(answer));
  waiting.deadline = SteadyNow() + PatienceWith(waiting);
  waiting_.push_back(std::move(waiting));
}

LiveSegments::Answered LiveSegments::Answer(Waiting& waiting) {
  if (waiting.running == nullptr) {
    auto running = Find(waiting.request);
    if (!running.ok()) return Result<MediaPart>(running.error());
    if (*running == nullptr) return std::nullopt;
    waiting.running = std::move(running).value();
  }
  waiting.running->used = SteadyNow();
  return waiting.running->presentation->Answer(waiting.request.ask);
}

Duration LiveSegments::PatienceWith(const Waiting& waiting) const {
  const LiveAsk& ask = waiting.request.ask;
  if (waiting.running == nullptr) {
    const auto live = hooks_.find(waiting.request.source);
    return live.ok() ? std::min<Duration>(kMaxLiveWait, (*live)->patience()) : Duration{};
  }
  const bool made_on_demand = ask.name.track == PartTrack::kThumbnails;
  const bool segment = ask.name.kind == PartKind::kSegment && !made_on_demand;
  if (!ask.wait_segment && !segment) return kMaxLiveWait;
  const std::chrono::seconds target(waiting.running->presentation->target_seconds());
  return std::min<Duration>(kMaxLiveWait, 3 * target);
}

void LiveSegments::AnswerWaiting() {
  const TimePoint now = SteadyNow();
  std::erase_if(waiting_, [&](Waiting& waiting) {
    const bool unpublished = waiting.running == nullptr;
    auto answer = Answer(waiting);
    if (unpublished && waiting.running != nullptr) waiting.deadline = now + PatienceWith(waiting);
    if (!answer && now < waiting.deadline) return false;
    if (!answer) {
      const MutexLock lock(mutex_);
      ++stats_.timeouts;
    }
    Reply(waiting.done, answer ? *std::move(answer) : Result<MediaPart>(BroughtNothing(waiting)));
    return true;
  });
}

Error LiveSegments::BroughtNothing(const Waiting& waiting) const {
  Error error{.code = Code::kUnavailable, .message = "The live source brought nothing in time."};
  if (waiting.running != nullptr) return error;
  const auto live = hooks_.find(waiting.request.source);
  error.message = live.ok() && (*live)->info() != nullptr
                      ? "Streams of this presentation that is over have not ended; try again."
                      : "Nobody publishes under this name now.";
  return error;
}

void LiveSegments::EndIdle() {
  const TimePoint now = SteadyNow();
  std::erase_if(running_, [&](const auto& entry) {
    Running& running = *entry.second;
    const bool awaited = std::ranges::any_of(
        waiting_, [&](const Waiting& waiting) { return waiting.running == entry.second; });
    const bool idle =
        !awaited && !Stands(entry.first, running) && now - running.used > options_.idle;
    if (idle || running.presentation->over()) StopStreams(running);
    running.forgotten = running.forgotten || idle;
    return running.forgotten && !HasStreams(running);
  });
}

// The reader of the source goes with the streams that read it: what players still fetch of a
// presentation that is over needs none.
void LiveSegments::StopStreams(Running& running) {
  if (std::exchange(running.stopped, true)) return;
  running.tee->Stop();
  for (const StreamId id : running.streams) hooks_.cancel(id);
  running.tee.reset();
}

bool LiveSegments::HasStreams(const Running& running) const {
  return hooks_.runs && std::ranges::any_of(running.streams, hooks_.runs);
}

void LiveSegments::ForgetOneThatIsOver() {
  auto oldest = running_.end();
  for (auto it = running_.begin(); it != running_.end(); ++it) {
    if (!it->second->presentation->over()) continue;
    if (oldest == running_.end() || it->second->used < oldest->second->used) oldest = it;
  }
  if (oldest == running_.end()) return;
  StopStreams(*oldest->second);
  running_.erase(oldest);
}

LiveSegmentStats LiveSegments::stats() const {
  const std::uint64_t thumbnails = thumbnails_.made();
  const MutexLock lock(mutex_);
  LiveSegmentStats stats = stats_;
  stats.thumbnails = thumbnails;
  return stats;
}

}  // namespace gopmill
