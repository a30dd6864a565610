// SPDX-License-Identifier: Apache-2.0
//
// One reader of a live source for several streams: each gets the very same packets on the same
// clock, so that their units, and with them their key frames, lie at the same pictures. What the
// source drops for a reader that does not keep up is dropped for all of them alike.
//
// No thread of its own: whichever stream finds nothing waiting reads on for all. The streams go on
// together: the fastest is at most kTeeNanos or kTeeBytes ahead of the slowest.
//
// Thread-safety: safe; each source that it opens is for one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "base/status.h"
#include "base/thread_safety.h"
#include "media/packet_source.h"
#include "media/subtitle_track.h"
#include "server/live/live_clock.h"

namespace gopmill {

inline constexpr std::int64_t kTeeNanos = 1'000'000'000;
inline constexpr std::size_t kTeeBytes = std::size_t{4} << 20U;

class PacketTee : public std::enable_shared_from_this<PacketTee> {
 public:
  using Opener = std::function<Result<std::unique_ptr<PacketSource>>(const std::stop_token&)>;

  // A cue of track number `track`, on the clock of the packets. Called on the thread that reads,
  // one after the other; must not block.
  using OnCue = std::function<void(std::size_t track, SubtitleCue cue, std::int64_t publisher)>;

  // `clock` hears of all pictures, `on_cue` of what the source says in text.
  PacketTee(Opener open, std::size_t streams, std::shared_ptr<LiveClock> clock, OnCue on_cue = {});
  // The source for stream number `stream`, once each. Waits until the live source has begun.
  Result<std::unique_ptr<PacketSource>> Open(std::size_t stream, const std::stop_token& stop);
  // Ends the reading; what is waiting in it returns.
  void Stop() { stop_.request_stop(); }

 private:
  class Branch;
  struct Entry {
    PacketSource::ReadState state = PacketSource::ReadState::kEnd;
    std::shared_ptr<const av::Packet> packet;  // null at the end
    std::int64_t dts_ns = 0;
    Arrival arrival;
    std::shared_ptr<const SourceInfo> coded;
  };
  struct Queue {  // of one stream
    std::deque<Entry> entries;
    std::size_t bytes = 0;
    bool open = true;
  };
  Status Begin(const std::stop_token& stop);
  Result<Entry> Next(std::size_t stream, const std::stop_token& stop);
  Result<Entry> ReadOne();
  Result<PacketSource::ReadState> ReadBesideText(AVPacket& packet);
  void HandOut(const Entry& entry) GOPMILL_REQUIRES(mutex_);
  void Leave(std::size_t stream);
  [[nodiscard]] bool SomebodyIsFarBehind() const GOPMILL_REQUIRES(mutex_);

  const Opener open_;
  const std::shared_ptr<LiveClock> clock_;
  const OnCue on_cue_;
  std::stop_source stop_;
  std::unique_ptr<PacketSource> source_;  // used by the one thread that has set busy_

  Mutex mutex_;  // guards all below
  CondVar changed_;
  bool busy_ GOPMILL_GUARDED_BY(mutex_) = false;  // somebody opens or reads the source
  bool begun_ GOPMILL_GUARDED_BY(mutex_) = false;
  std::optional<Error> failed_ GOPMILL_GUARDED_BY(mutex_);
  std::vector<Queue> queues_ GOPMILL_GUARDED_BY(mutex_);
};

}  // namespace gopmill
