// SPDX-License-Identifier: Apache-2.0
//
// The bounded way of a live source's coded packets from a front end that takes its protocol apart
// itself (RTSP) to the thread that reads them as a PacketSource.
//
// The front end says what the tracks are, then pushes packets of both in any interleaving; they
// have presentation times only, decoding times are made here. What the reader gets begins with a
// key frame.
//
// Thread-safety: safe. Any number of threads push, one reads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>

#include "base/clock.h"
#include "base/status.h"
#include "base/thread_safety.h"
#include "media/av_ptr.h"
#include "media/packet_output.h"
#include "media/packet_source.h"

namespace gopmill {

// What may wait for the reader: beyond it, Push waits.
inline constexpr std::size_t kFeedBytes = std::size_t{16} << 20U;
// Pictures in which the tracks must have told what they are.
inline constexpr std::size_t kFeedProbePictures = 120;
// How long the first picture waits for sound that was announced.
inline constexpr std::chrono::milliseconds kSoundPatience{1500};

class PacketFeed {
 public:
  // `sound`: a track of sound was announced. A feed that brings nothing for `silence` has ended:
  // kDeadlineExceeded.
  PacketFeed(bool sound, Duration silence) : sound_(sound), silence_(silence) {}

  // Front end.
  // What a track is, before its first packet. Later changes are not taken: a stream says them
  // itself.
  void SetTrack(CodedTrack track);
  // kCancelled once nobody reads any more. `pts_ns` < 0 = unknown.
  Status Push(TrackKind kind, const CodedPacket& packet);
  // So many packets of the network never came.
  void AddLost(std::int64_t packets) { lost_ += packets; }
  // What was pushed is still read.
  void End();
  [[nodiscard]] bool abandoned() const;

  // Reader. Waits for the tracks and enough packets to know them; `stop` ends that and all reading.
  static Result<std::unique_ptr<PacketSource>> Open(std::shared_ptr<PacketFeed> feed,
                                                    std::stop_token stop);

 private:
  class Source;
  struct Entry {
    TrackKind kind = TrackKind::kVideo;
    std::int64_t pts_ns = 0, duration_ns = 0;
    av::Packet packet;  // without times
  };
  Result<std::optional<Entry>> Pop(const std::stop_token& stop, Duration patience);
  std::optional<CodedTrack> track(TrackKind kind) const;
  void Abandon();

  const bool sound_;
  const Duration silence_;
  std::atomic<std::int64_t> lost_ = 0;
  mutable Mutex mutex_;  // guards all below
  CondVar changed_;
  std::array<std::optional<CodedTrack>, 2> tracks_ GOPMILL_GUARDED_BY(mutex_);
  std::deque<Entry> entries_ GOPMILL_GUARDED_BY(mutex_);
  std::size_t bytes_ GOPMILL_GUARDED_BY(mutex_) = 0;
  bool ended_ GOPMILL_GUARDED_BY(mutex_) = false;
  bool abandoned_ GOPMILL_GUARDED_BY(mutex_) = false;
};

}  // namespace gopmill
