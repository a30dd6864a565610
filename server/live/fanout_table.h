// SPDX-License-Identifier: Apache-2.0
//
// Who reads which shared encode: equal requests for a live source get the packets of one encode,
// which begins with the first of its readers and is stopped when the last has left.
//
// A thread per reader, which muxes and blocks on its sink.
//
// Thread-safety: safe. The hooks are called without the lock, an Opener with it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/thread_safety.h"
#include "server/live/live_fanout.h"

namespace gopmill {

// Readers that have left and whose encode can still be asked for by their number.
inline constexpr std::size_t kKnownReaders = 1000;

struct FanoutHooks {
  std::function<void(StreamId)> cancel;  // stops an encode
  std::function<void()> on_left;         // a reader's sink has been finished
};

struct FanoutStats {
  std::size_t readers = 0;
  std::int64_t dropped_gops = 0, bytes = 0;  // of all readers there have been
};

class FanoutTable {
 public:
  explicit FanoutTable(FanoutHooks hooks) : hooks_(std::move(hooks)) {}
  ~FanoutTable();  // Stop
  FanoutTable(const FanoutTable&) = delete;
  FanoutTable& operator=(const FanoutTable&) = delete;

  // One more reader of the encode with this key; `open` starts that if there is none.
  using Opener = std::function<Result<StreamId>(std::unique_ptr<StreamSink>)>;
  Status Join(const std::string& key, StreamId reader, std::unique_ptr<StreamSink> sink,
              const Opener& open);
  // False if no reader has this number.
  bool Leave(StreamId reader);

  // The encode of a reader, also of one that has left lately.
  [[nodiscard]] std::optional<StreamId> EncodeOf(StreamId reader) const;
  // By encode; without any that have left.
  [[nodiscard]] std::map<StreamId, std::vector<ReaderSnapshot>> Readers() const;
  [[nodiscard]] FanoutStats stats() const;
  // Without the lock.
  [[nodiscard]] std::size_t readers() const { return readers_; }
  [[nodiscard]] std::size_t encodes() const { return encode_count_; }  // that can be joined
  // Waits for the threads of readers that have ended: for some microseconds.
  void JoinEnded();
  // Lets all readers go and waits for their threads. No more can join.
  void Stop();

 private:
  struct Encode {
    StreamId id;
    std::shared_ptr<LiveFanout> fanout;
  };
  struct Seat {
    std::string key;
    Encode encode;
    std::shared_ptr<FanoutReader> reader;  // null once its thread is done with it
    std::jthread thread;
    bool left = false;
  };
  Result<Encode> Find(const std::string& key, const std::shared_ptr<FanoutReader>& reader,
                      const Opener& open) GOPMILL_REQUIRES(mutex_);
  Status Start(Seat seat, std::optional<StreamId>& unread) GOPMILL_REQUIRES(mutex_);
  void OnEnded(StreamId id);
  std::optional<StreamId> LeaveLocked(Seat& seat) GOPMILL_REQUIRES(mutex_);

  const FanoutHooks hooks_;
  std::atomic<std::size_t> readers_ = 0;  // that have not left; both are written under the lock
  std::atomic<std::size_t> encode_count_ = 0;
  mutable Mutex mutex_;  // guards all below; taken before those of encodes and readers
  std::map<std::string, Encode> encodes_ GOPMILL_GUARDED_BY(mutex_);
  std::map<StreamId, Seat> seats_ GOPMILL_GUARDED_BY(mutex_);
  std::map<StreamId, StreamId> encode_of_ GOPMILL_GUARDED_BY(mutex_);  // by reader, newest kept
  FanoutStats before_ GOPMILL_GUARDED_BY(mutex_);                      // of readers that have ended
  bool stopping_ GOPMILL_GUARDED_BY(mutex_) = false;
};

}  // namespace gopmill
