// SPDX-License-Identifier: Apache-2.0
//
// One of several readers of the same encode: the packets that wait for it, and its own muxer in
// front of its own sink.
//
// A reader that comes later begins with the next key picture; its clock begins with 0 all the same
// (fanout_clock.h). One that does not take what it gets loses whole GOPs, the oldest first, beyond
// what the encode gives it room for. The encode and the other readers notice nothing.
//
// Thread-safety: Run is for the reader's one thread; all else is safe, and does not block.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/thread_safety.h"
#include "media/muxer.h"
#include "server/api/stream_sink.h"
#include "server/live/fanout_clock.h"
#include "server/stream/sink_output.h"
#include "server/stream/stream_stats.h"

namespace gopmill {

// What may wait for a reader: coded bytes, and how long while packets come. GOPs that come whole,
// faster than they are played, get more: bytes for two of the largest, up to the bound, and the
// longest one's length.
inline constexpr std::size_t kFanoutBytes = std::size_t{8} << 20U;
inline constexpr std::size_t kMaxFanoutBytes = std::size_t{64} << 20U;
inline constexpr std::chrono::seconds kFanoutWait{3};
struct FanoutRoom {
  std::size_t bytes = kFanoutBytes;
  Duration wait = kFanoutWait;
};

// What an encode says of itself before its first packet.
struct FanoutHeader {
  StreamStart start;
  Container container = Container::kMp4;
  std::vector<MuxTrack> tracks;
};

// The next packet, or a mark behind the last one (PacketOutput). Packets are shared, not changed.
struct FanoutItem {
  enum class Kind { kPacket, kEndFragment, kEndUnit };
  Kind kind = Kind::kPacket;
  std::size_t track = 0;
  std::shared_ptr<const av::Packet> packet = {};  // null for a mark
  TimePoint made = {};

  [[nodiscard]] bool begins_gop() const;
  [[nodiscard]] std::size_t bytes() const;
};

class FanoutReader {
 public:
  FanoutReader(StreamId id, std::unique_ptr<StreamSink> sink);

  // The encode's side. Open before the first Put.
  void Open(std::shared_ptr<const FanoutHeader> header);
  // Packets have gone by: it begins with the next key picture. Before the first Put.
  void ComesLate();
  void Put(const FanoutItem& item, const FanoutRoom& room);
  // What was put is still delivered, unless the end is a cancel.
  void End(const StreamEnd& end);

  // Delivers until the end, and finishes the sink.
  void Run();

  // The reader has left.
  void Cancel() noexcept;
  [[nodiscard]] StreamId id() const { return id_; }
  [[nodiscard]] ReaderSnapshot Snapshot() const;

 private:
  struct Queued {
    FanoutItem item;
    bool after_gap = false;  // packets before it are missing
  };
  void DropOldest() GOPMILL_REQUIRES(mutex_);
  Result<std::optional<Queued>> Next();
  Status Deliver();
  Status Write(const Queued& next);
  Status WritePacket(const Queued& next);
  void NoteOutput();

  const StreamId id_;
  const std::unique_ptr<StreamSink> sink_;
  std::stop_source stop_;
  const TimePoint came_ = SteadyNow();
  // Used by the reader's thread.
  Duration first_byte_{};
  SinkOutput sink_output_;
  std::unique_ptr<PacketOutput> output_;  // with the first packet
  std::optional<FanoutClock> clock_;

  mutable Mutex mutex_;  // guards all below
  CondVar changed_;
  std::shared_ptr<const FanoutHeader> header_ GOPMILL_GUARDED_BY(mutex_);
  std::deque<Queued> queue_ GOPMILL_GUARDED_BY(mutex_);
  std::size_t bytes_ GOPMILL_GUARDED_BY(mutex_) = 0;
  bool needs_key_ GOPMILL_GUARDED_BY(mutex_) = false;
  std::optional<StreamEnd> end_ GOPMILL_GUARDED_BY(mutex_);
  bool over_ GOPMILL_GUARDED_BY(mutex_) = false;
  ReaderSnapshot stats_ GOPMILL_GUARDED_BY(mutex_);
};

}  // namespace gopmill
