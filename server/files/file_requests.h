// SPDX-License-Identifier: Apache-2.0
//
// Requests that read files (sources, explain, the check behind HEAD): they wait for one thread that
// works on them one after the other, so that a slow disk holds up nobody else. Bounded by
// kMaxFileRequests. Each gets an answer, unless who asked has left before its turn.
//
// Listings, each of which looks at the whole library, are made once for all who have asked by then,
// and behind requests for single files: at most kMaxAheadOfListing of those.
//
// The thread looks at the library as well, since a file system that is gone may hold up whoever
// does: before each request, and once a second.
//
// Thread-safety: safe. Work and its answers are called on the thread, without a lock; a refusal is
// answered by who adds.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/status.h"
#include "base/thread_safety.h"
#include "server/api/service.h"
#include "server/files/library.h"

namespace gopmill {

// Requests that read files and have not been answered; more are refused (kUnavailable).
inline constexpr std::size_t kMaxFileRequests = 256;
// Those that are worked on before a listing that waits.
inline constexpr int kMaxAheadOfListing = 32;

class FileRequests {
 public:
  // Its token is stopped when the client leaves, or when the service ends.
  using Work = std::function<void(const std::stop_token& stop)>;

  // The library must outlive it.
  explicit FileRequests(const Library& library) : library_(library) {}
  // Begins to work. kUnavailable where the machine has no more threads.
  Status Start();
  ~FileRequests() { Stop(); }  // and waits for what is being worked on
  FileRequests(const FileRequests&) = delete;
  FileRequests& operator=(const FileRequests&) = delete;

  // `work` answers by itself; `done` is for an error when it is not worked on. Those whose clients
  // have `left` have no place in front of others where there is no room.
  void Add(Work work, std::stop_token left, const JsonCallback& done);
  // Makes a listing, the same whoever asks, unless all have left by then. Who asks while one is
  // made waits for the next: what has come into the library meanwhile may not be in that one.
  using Listing = std::function<Result<SharedText>()>;
  void AddListing(Listing list, std::stop_token left, const TextCallback& done);
  // From now on requests are refused, and those that wait are answered so; the one that is being
  // worked on is told to stop. Does not wait.
  void Stop();
  // For work that goes on when its client has left.
  [[nodiscard]] std::stop_token ending() const { return ending_.get_token(); }
  // Whether the library could be read a second ago, or before the last reading of a file.
  [[nodiscard]] bool library_readable() const { return library_readable_; }

 private:
  struct Request {
    Work work;
    std::stop_token left;
    JsonCallback done;
  };
  struct Asking {  // for a listing
    std::stop_token left;
    TextCallback done;
  };
  struct Turn {  // one of both
    std::optional<Request> request;
    std::vector<Asking> asking;
    Listing list;
    bool stopping = false;
  };
  void Run();
  void CheckLibrary();
  std::optional<Error> Refusal() GOPMILL_REQUIRES(mutex_);
  [[nodiscard]] std::size_t Waiting() const GOPMILL_REQUIRES(mutex_);
  std::optional<Turn> NextTurn();
  void WorkOn(const Turn& turn) const;
  void WorkOn(const Request& request) const;

  const Library& library_;
  std::atomic<bool> library_readable_ = true;
  std::stop_source ending_;

  Mutex mutex_;  // guards all below
  CondVar changed_;
  std::deque<Request> requests_ GOPMILL_GUARDED_BY(mutex_);
  std::vector<Asking> asking_ GOPMILL_GUARDED_BY(mutex_);
  Listing list_ GOPMILL_GUARDED_BY(mutex_);
  int ahead_ GOPMILL_GUARDED_BY(mutex_) = 0;  // worked on while a listing waits
  bool stopping_ GOPMILL_GUARDED_BY(mutex_) = false;

  std::jthread thread_;
};

}  // namespace gopmill
