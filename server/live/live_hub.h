// SPDX-License-Identifier: Apache-2.0
//
// All live sources by name, and the threads that read their publishers: one per publisher, which
// blocks on its pipe and hands packets out.
//
// Thread-safety: safe.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "base/status.h"
#include "base/thread_safety.h"
#include "server/api/live_name.h"
#include "server/api/service.h"
#include "server/live/live_source.h"
#include "server/stream/ingest_loop.h"

namespace gopmill {

inline constexpr std::size_t kMaxPublishers = 64;   // at once
inline constexpr std::size_t kMaxLiveNames = 1000;  // with a publisher or readers that wait for one

struct LiveOptions {
  bool replace = false;  // a new publisher of a name ends the one before it
  // How long readers wait for the first packet of a publisher, and for one that returns. Of
  // sources that are not known yet.
  Duration patience = std::chrono::seconds(30);
};

struct LiveTotals {
  int publishing = 0;
  std::size_t readers = 0;
  LiveCounts counts;                                  // over all names there have been
  std::map<std::string, std::int64_t> pull_failures;  // by name
};

class LiveHub {
 public:
  using Done = std::function<void(Result<std::string>)>;

  LiveHub() = default;
  ~LiveHub();  // Stop
  LiveHub(const LiveHub&) = delete;
  LiveHub& operator=(const LiveHub&) = delete;

  // Reads a publisher until its end, on a thread of its own, where `open` is called too. While the
  // name has another one: kAlreadyExists, or the end of that one (LiveOptions::replace, unless
  // `takeover` is kNever).
  // kUnavailable beyond kMaxPublishers and after Stop. `done` is called from that thread: with the
  // counts as JSON, or what was wrong with the stream. That a publisher has come, `from` where, and
  // gone is logged.
  Status Publish(const std::string& name, const std::string& from, PacketSourceOpener open,
                 Done done, Takeover takeover = Takeover::kAsSet);
  // Why Publish would be refused now, unless for the number of names; takes nothing.
  [[nodiscard]] Status CheckPublish(const std::string& name, Takeover takeover) const;
  // From now on.
  void Configure(const LiveOptions& options);
  // The source of that name; made if need be, since readers may come first.
  Result<std::shared_ptr<LiveSource>> Find(const std::string& name);

  // A source that is fetched is known for good.
  void SetPull(const std::string& name, PullState state);
  // Whether anybody reads it, or waits for a publisher of it.
  [[nodiscard]] bool Wanted(const std::string& name) const;
  [[nodiscard]] std::string Json() const;  // the sources that there are
  [[nodiscard]] LiveTotals Totals() const;
  // Ends all publishers and waits for their threads.
  void Stop();

 private:
  struct Publisher {
    std::shared_ptr<LiveSource> live;
    std::stop_source stop;
    std::atomic<bool> over = false;  // set last by the thread, read before joining it
    std::jthread thread;
  };
  void Reap() GOPMILL_REQUIRES(mutex_);
  [[nodiscard]] bool Replaces(Takeover takeover) const GOPMILL_REQUIRES(mutex_);
  [[nodiscard]] Status CheckRoom() const GOPMILL_REQUIRES(mutex_);
  Result<std::shared_ptr<LiveSource>> FindLocked(const std::string& name) GOPMILL_REQUIRES(mutex_);

  mutable Mutex mutex_;  // guards all below; taken before that of a LiveSource
  std::map<std::string, std::shared_ptr<LiveSource>> sources_ GOPMILL_GUARDED_BY(mutex_);
  std::list<Publisher> publishers_ GOPMILL_GUARDED_BY(mutex_);
  LiveCounts forgotten_ GOPMILL_GUARDED_BY(mutex_);  // of names that are no more
  LiveOptions options_ GOPMILL_GUARDED_BY(mutex_);
  bool stopping_ GOPMILL_GUARDED_BY(mutex_) = false;
};

}  // namespace gopmill
