// SPDX-License-Identifier: Apache-2.0
#include "server/files/file_requests.h"

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

void FileRequests::Add(Work work, std::stop_token left, const JsonCallback& done) {
  std::optional<Error> refused;
  {
    const MutexLock lock(mutex_);
    if (requests_.size() >= kMaxFileRequests) {
      std::erase_if(requests_, [](const Request& r) { return r.left.stop_requested(); });
    }
    if (stopping_) {
      refused = ShuttingDown();
    } else if (requests_.size() >= kMaxFileRequests) {
      refused = TooManyWait();
    } else {
      requests_.push_back({std::move(work), std::move(left), done});
    }
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

void FileRequests::Run() {
  while (true) {
    CheckLibrary();
    Request request;
    bool stopping = false;
    {
      const MutexLock lock(mutex_);
      if (requests_.empty() && !stopping_) changed_.WaitFor(mutex_, kBetweenLibraryChecks);
      stopping = stopping_;
      if (requests_.empty()) {
        if (stopping) return;
        continue;
      }
      request = std::move(requests_.front());
      requests_.pop_front();
    }
    if (stopping) {
      request.done(ShuttingDown());
    } else if (!request.left.stop_requested()) {
      WorkOn(request);
    }
  }
}

}  // namespace gopmill
