// SPDX-License-Identifier: Apache-2.0
//
// The bounded way of a stream's coded packets from its egress thread to a front end that plays them
// at their own pace. The stream runs ahead of play by kAheadNanos of every track, or kAheadBytes
// in all; then Push blocks, and with it the stream. A track that is not taken while the other one
// is (a player need not set up all) does not block: what lies kNotTakenNanos behind is dropped.
//
// What plays may move to another place: Restart begins another generation, whose packets come from
// another stream. What an earlier generation still brings is refused.
//
// Thread-safety: safe. on_packet runs on the egress thread, without the lock.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/thread_safety.h"
#include "server/api/stream_sink.h"

namespace gopmill {

// How far a stream runs ahead of what plays it.
inline constexpr std::int64_t kAheadNanos = 2'000'000'000;
inline constexpr std::size_t kAheadBytes = std::size_t{8} << 20U;
// How far one track may lag behind what has been taken of the other; and when there is no room left
// for the other.
inline constexpr std::int64_t kNotTakenNanos = 10'000'000'000;
inline constexpr std::int64_t kNotTakenFullNanos = 500'000'000;

struct QueuedPacket {
  std::vector<std::uint8_t> bytes;
  std::int64_t pts_ns = 0, dts_ns = 0, duration_ns = 0;
  bool key = false;
};

// What a stream is made of, known with its first packet.
struct PlayableStream {
  std::vector<CodedTrack> tracks;
  double seconds = 0;  // 0 = unknown
};

class PacketQueue {
 public:
  static constexpr std::size_t kMaxTracks = 2;
  using OnPacket = std::function<void(std::size_t track)>;

  // `on_packet`: something has come for this track, or its end.
  explicit PacketQueue(OnPacket on_packet) : on_packet_(std::move(on_packet)) {}

  // Drops what waits and begins another generation; returns its number.
  std::int64_t Restart();
  // No more packets are wanted: Push returns kCancelled from now on.
  void Abandon();

  // Stream side; `generation` is that of the stream.
  Status SetStream(std::int64_t generation, PlayableStream stream);
  Status Push(std::int64_t generation, const CodedPacket& packet);
  void End(std::int64_t generation, const Status& status);

  // Player side.
  // Waits until the tracks are known; the reason if they never will be.
  Result<PlayableStream> AwaitStream(Duration timeout);
  enum class State { kPacket, kEmpty, kEnd, kFailed };
  // Takes the next packet of a track, if there is one; behind the last, how the stream ended.
  State Pop(std::size_t track, QueuedPacket& packet);
  [[nodiscard]] std::size_t bytes() const;
  // The stream is over; what it has brought may still wait here.
  [[nodiscard]] bool ended() const;

 private:
  [[nodiscard]] bool Full() const GOPMILL_REQUIRES(mutex_);
  void DropNotTaken() GOPMILL_REQUIRES(mutex_);

  const OnPacket on_packet_;
  mutable Mutex mutex_;  // guards all below
  CondVar changed_;
  std::int64_t generation_ GOPMILL_GUARDED_BY(mutex_) = 0;
  std::array<std::deque<QueuedPacket>, kMaxTracks> packets_ GOPMILL_GUARDED_BY(mutex_);
  // Decoding time of the last packet that was taken.
  std::array<std::optional<std::int64_t>, kMaxTracks> taken_ns_ GOPMILL_GUARDED_BY(mutex_);
  std::size_t bytes_ GOPMILL_GUARDED_BY(mutex_) = 0;
  std::optional<PlayableStream> stream_ GOPMILL_GUARDED_BY(mutex_);
  std::optional<Status> end_ GOPMILL_GUARDED_BY(mutex_);
  bool abandoned_ GOPMILL_GUARDED_BY(mutex_) = false;
};

}  // namespace gopmill
