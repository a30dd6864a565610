// SPDX-License-Identifier: Apache-2.0
//
// Presentations that LiveSegments begins, and keeps, without being asked for them.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "server/live/live_segments.h"

namespace gopmill {

void LiveSegments::Keep(std::vector<LiveRequest> requests) {
  {
    const MutexLock lock(mutex_);
    kept_ = std::move(requests);
    news_ = true;
  }
  changed_.NotifyAll();
}

// What is among them still stays as it is.
void LiveSegments::TakeKept() {
  std::optional<std::vector<LiveRequest>> kept;
  {
    const MutexLock lock(mutex_);
    kept = std::exchange(kept_, std::nullopt);
  }
  if (!kept) return;
  std::map<std::string, Standing> before = std::exchange(standing_, {});
  for (LiveRequest& request : *kept) {
    Standing standing = std::move(before[request.key]);
    standing.request = std::move(request);
    standing_[standing.request.key] = std::move(standing);
  }
}

void LiveSegments::BeginStanding() {
  TakeKept();
  for (auto& [key, standing] : standing_) {
    Follow(standing);
    if (standing.presentation == nullptr) Begin(standing);
  }
}

void LiveSegments::LogFailure(Standing& standing, const Error& why) {
  if (!standing.pace.OnFailure(why)) return;
  spdlog::warn("live/{}: cannot be presented without a viewer, and is tried again: {}",
               TextOfStanding(standing.request), why.ToString());
}

// What has become of the presentation, whoever began it.
void LiveSegments::Follow(Standing& standing) {
  const auto found = running_.find(standing.request.key);
  if (found != running_.end() && !found->second->forgotten) {
    standing.presentation = found->second->presentation;
  }
  if (standing.presentation == nullptr) return;
  if (standing.presentation->over()) {
    const auto failure = standing.presentation->failure();
    if (failure) LogFailure(standing, *failure);
    standing.presentation.reset();  // and what it has in memory
  } else if (standing.presentation->bytes() > 0 && standing.pace.OnMade()) {
    spdlog::info("live/{}: is presented now", TextOfStanding(standing.request));
  }
}

// A source that nobody publishes is not wanted for this alone.
void LiveSegments::Begin(Standing& standing) {
  const TimePoint now = SteadyNow();
  if (!standing.pace.MayBegin(now)) return;
  const auto live = hooks_.find(standing.request.source);
  if (live.ok() && (*live)->info() == nullptr) return;
  const auto begun = live.ok() ? Find(standing.request) : live.error();
  if (begun.ok() && *begun == nullptr) return;  // streams of the one before have not ended
  standing.pace.OnAttempt(now);
  if (!begun.ok()) return LogFailure(standing, begun.error());
  (*begun)->used = {};  // never: nobody misses it once it is not to be kept
}

bool LiveSegments::Stands(const std::string& key, const Running& running) const {
  return standing_.contains(key) && !running.presentation->over();
}

}  // namespace gopmill
