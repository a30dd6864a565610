// SPDX-License-Identifier: Apache-2.0
#include "server/files/file_requests.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/thread.h"
#include "server/api/refusals.h"

namespace gopmill {
namespace {

constexpr std::chrono::seconds kBetweenLibraryChecks(1);

}  // namespace

Status FileRequests::Start() {
  GOPMILL_ASSIGN_OR_RETURN(thread_, StartThread([this] { Run(); }));
  return OkStatus();
}

void FileRequests::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  ending_.request_stop();
  changed_.NotifyAll();
}

std::size_t FileRequests::Waiting() const { return requests_.size() + asking_.size(); }

// Why there is no room for one more, if so.
std::optional<Error> FileRequests::Refusal() {
  const auto has_left = [](const auto& request) { return request.left.stop_requested(); };
  if (stopping_) return ShuttingDown();
  if (Waiting() < kMaxFileRequests) return std::nullopt;
  std::erase_if(requests_, has_left);
  std::erase_if(asking_, has_left);
  if (Waiting() >= kMaxFileRequests) return TooManyWait();
  return std::nullopt;
}

void FileRequests::Add(Work work, std::stop_token left, const JsonCallback& done) {
  std::optional<Error> refused;
  {
    const MutexLock lock(mutex_);
    refused = Refusal();
    if (!refused) requests_.push_back({std::move(work), std::move(left), done});
  }
  if (refused) return done(*refused);
  changed_.NotifyAll();
}

void FileRequests::AddListing(Listing list, std::stop_token left, const TextCallback& done) {
  std::optional<Error> refused;
  {
    const MutexLock lock(mutex_);
    refused = Refusal();
    if (!refused) asking_.push_back({std::move(left), done});
    if (!refused) list_ = std::move(list);
  }
  if (refused) return done(*refused);
  changed_.NotifyAll();
}

void FileRequests::CheckLibrary() {
  const bool readable = library_.Check().ok();
  if (readable && !library_readable_) spdlog::info("library: it can be read again");
  library_readable_ = readable;
}

void FileRequests::WorkOn(const Request& request) const {
  std::stop_source stop;
  const auto end = [&stop] { stop.request_stop(); };
  const std::stop_callback left(request.left, end);
  const std::stop_callback at_end(ending_.get_token(), end);
  request.work(stop.get_token());
}

void FileRequests::WorkOn(const Turn& turn) const {
  if (turn.request) {
    if (turn.stopping) return turn.request->done(ShuttingDown());
    if (!turn.request->left.stop_requested()) WorkOn(*turn.request);
    return;
  }
  const auto has_left = [](const Asking& each) { return each.left.stop_requested(); };
  if (!turn.stopping && std::ranges::all_of(turn.asking, has_left)) return;
  const Result<SharedText> listed =
      turn.stopping ? Result<SharedText>(ShuttingDown()) : turn.list();
  for (const Asking& each : turn.asking) each.done(listed);
}

// Nothing at the end. Neither a request nor a listing: it is time to look at the library again.
std::optional<FileRequests::Turn> FileRequests::NextTurn() {
  const MutexLock lock(mutex_);
  if (Waiting() == 0 && !stopping_) changed_.WaitFor(mutex_, kBetweenLibraryChecks);
  if (Waiting() == 0 && stopping_) return std::nullopt;
  Turn turn;
  turn.stopping = stopping_;
  if (!asking_.empty() && (requests_.empty() || ahead_ >= kMaxAheadOfListing)) {
    turn.asking = std::exchange(asking_, {});
    turn.list = list_;
    ahead_ = 0;
  } else if (!requests_.empty()) {
    turn.request = std::move(requests_.front());
    requests_.pop_front();
    if (!asking_.empty()) ++ahead_;
  }
  return turn;
}

void FileRequests::Run() {
  while (true) {
    CheckLibrary();
    const std::optional<Turn> turn = NextTurn();
    if (!turn) return;
    WorkOn(*turn);
  }
}

}  // namespace gopmill
