// SPDX-License-Identifier: Apache-2.0
//
// The bounded way of a live source's coded packets from a front end that takes its protocol apart
// itself (RTSP) to the thread that reads them as a PacketSource.
//
// The front end says what tracks there will be, then what each is, and pushes packets of all in any
// interleaving; they have presentation times only, decoding times are made here. What the reader
// gets begins with a key frame. A track of sound that nothing came of in time, or of a codec that
// is not taken, is left out.
//
// Thread-safety: safe. Any number of threads push, one reads.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/thread_safety.h"
#include "media/av_ptr.h"
#include "media/packet_output.h"
#include "media/packet_source.h"

namespace gopmill {

// What may wait for the reader: beyond it, Push waits.
inline constexpr std::size_t kFeedBytes = std::size_t{16} << 20U;
// Pictures, and their bytes, in which the tracks must have told what they are.
inline constexpr std::size_t kFeedProbePictures = 120;
inline constexpr std::size_t kFeedProbeBytes = std::size_t{128} << 20U;
// Packets of each track of sound that are kept meanwhile, up to kFeedBytes of all.
inline constexpr std::size_t kFeedProbeSounds = 480;
// How long the first picture waits for the tracks of sound that were announced.
inline constexpr std::chrono::milliseconds kSoundPatience{1500};
// How long a picture waits for the next one, to see whether the stated rate is true.
inline constexpr std::chrono::milliseconds kRatePatience{500};

// A track as it was announced.
struct FeedTrack {
  TrackKind kind = TrackKind::kVideo;
  std::string language = {}, title = {};  // of sound; empty = unknown
};

class PacketFeed {
 public:
  // One track of pictures, and any number of sound in the order in which they shall be. A feed that
  // brings nothing for `silence`, or sound alone for as long, has ended: kDeadlineExceeded.
  // `unusable_audio` is for SourceInfo.
  PacketFeed(std::vector<FeedTrack> tracks, Duration silence,
             std::vector<std::string> unusable_audio = {})
      : announced_(std::move(tracks)),
        silence_(silence),
        unusable_audio_(std::move(unusable_audio)),
        tracks_(announced_.size()) {}

  // Front end; tracks are numbered as they were announced.
  // What a track is, before its first packet. Later changes are not taken: a stream says them
  // itself.
  void SetTrack(std::size_t track, CodedTrack coded);
  // kCancelled behind the end, or once nobody reads any more. `pts_ns` < 0 = unknown.
  Status Push(const CodedPacket& packet);
  // So many packets of the network never came.
  void AddLost(std::int64_t packets) { lost_ += packets; }
  [[nodiscard]] std::int64_t lost() const { return lost_; }
  // What was pushed is still read; who waits to push goes on.
  void End();
  [[nodiscard]] bool abandoned() const;

  // Reader. Waits for the tracks and enough packets to know them; `stop` ends that and all reading.
  static Result<std::unique_ptr<PacketSource>> Open(std::shared_ptr<PacketFeed> feed,
                                                    std::stop_token stop);

 private:
  class Source;
  struct Entry {
    std::size_t track = 0;
    std::int64_t pts_ns = 0, duration_ns = 0;
    av::Packet packet;  // without times
  };
  Result<std::optional<Entry>> Pop(const std::stop_token& stop, Duration patience);
  std::optional<CodedTrack> coded(std::size_t track) const;
  [[nodiscard]] bool IsVideo(std::size_t track) const {
    return announced_[track].kind == TrackKind::kVideo;
  }
  void Abandon();

  const std::vector<FeedTrack> announced_;
  const Duration silence_;
  const std::vector<std::string> unusable_audio_;
  std::atomic<std::int64_t> lost_ = 0;
  mutable Mutex mutex_;  // guards all below
  CondVar changed_;
  std::vector<std::optional<CodedTrack>> tracks_ GOPMILL_GUARDED_BY(mutex_);
  std::deque<Entry> entries_ GOPMILL_GUARDED_BY(mutex_);
  std::size_t bytes_ GOPMILL_GUARDED_BY(mutex_) = 0;
  bool ended_ GOPMILL_GUARDED_BY(mutex_) = false;
  bool abandoned_ GOPMILL_GUARDED_BY(mutex_) = false;
};

}  // namespace gopmill
