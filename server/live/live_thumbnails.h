// SPDX-License-Identifier: Apache-2.0
//
// The pictures of a live presentation's image track: one for each segment, a JPEG of the key
// picture that the segment of the smallest rendition begins with. Nothing is done before somebody
// asks for one; then it is a job of the scheduler, without a deadline unless its class has one, so
// that what is shown goes first.
//
// Guarantee: the same picture gives the same bytes, whatever worker makes it.
// Thread-safety: safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "base/status.h"
#include "base/thread_safety.h"
#include "media/plan.h"
#include "scheduler/scheduler.h"
#include "server/live/live_track.h"
#include "server/segments/segment_thumbnails.h"
#include "server/stream/unit_observer.h"

namespace gopmill {

// Thumbnails of one presentation that are being made at once; who asks for more waits.
inline constexpr std::size_t kMaxThumbnailsMaking = 4;

// What thumbnails show of pictures of this size, no larger than these.
ThumbnailSize LiveThumbnailSize(const Target& target);
// What a playlist states for them, bits per second: of segments of seven tenths of the length.
std::int64_t LiveThumbnailBps(const ThumbnailSize& size, double segment_seconds);

// For the pictures of a rendition, whose track is known.
std::shared_ptr<const StreamPlan> PlanLiveThumbnails(const LiveTrack& track,
                                                     const ThumbnailSize& size);

class LiveThumbnails {
 public:
  using Done = std::function<void(Result<std::string>)>;
  struct Order {
    std::shared_ptr<const StreamPlan> plan;  // PlanLiveThumbnails
    std::shared_ptr<const av::Packet> key;   // LiveKey::packet
    StreamId stream;                         // NewStream of the presentation
    std::uint16_t service_class = 0;         // of the scheduler
  };

  // Must not outlive the scheduler. `observer` (may be null) hears of each.
  explicit LiveThumbnails(Scheduler& scheduler, std::shared_ptr<UnitObserver> observer = nullptr)
      : scheduler_(scheduler), observer_(std::move(observer)) {}
  ~LiveThumbnails() { Stop(); }
  LiveThumbnails(const LiveThumbnails&) = delete;
  LiveThumbnails& operator=(const LiveThumbnails&) = delete;

  // What the scheduler takes the thumbnails of one presentation for.
  StreamId NewStream();
  // `done` gets the bytes: exactly once, on a worker's or the dispatcher's thread, unless this
  // returns an error. It must not block. One thread at a time.
  Status Make(const Order& order, Done done);
  // Cancels what is being made, and waits until all have been told.
  void Stop();
  [[nodiscard]] std::uint64_t made() const;

 private:
  void OnMade(const Done& done, Result<std::string> made);

  Scheduler& scheduler_;
  const std::shared_ptr<UnitObserver> observer_;
  std::stop_source stop_;

  mutable Mutex mutex_;  // guards all below
  CondVar changed_;
  std::uint64_t streams_ GOPMILL_GUARDED_BY(mutex_) = 0;
  std::int64_t next_unit_ GOPMILL_GUARDED_BY(mutex_) = 0;
  std::uint64_t made_ GOPMILL_GUARDED_BY(mutex_) = 0;
  int jobs_out_ GOPMILL_GUARDED_BY(mutex_) = 0;
  bool stopped_ GOPMILL_GUARDED_BY(mutex_) = false;
};

}  // namespace gopmill
