// SPDX-License-Identifier: Apache-2.0
//
// Live sources in segments: finds or starts the presentation that a request is for, and answers as
// soon as there is an answer.
//
// A presentation begins with the first request for one of its playlists and ends some time after
// the last request (LiveSegmentOptions::idle); those of Keep begin and end with their publishers.
// One whose streams are over can be had as long behind its last request, but reads nothing any more
// and makes room for others. Equal requests share it. Requests that have to wait (for a publisher,
// the first playlist, a part that was hinted at, the segment that is being made, a playlist with
// _HLS_msn) wait here, bounded in number and time.
//
// One thread answers all. Thread-safety: safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "base/ids.h"
#include "base/thread_safety.h"
#include "scheduler/scheduler.h"
#include "server/api/service.h"
#include "server/live/live_presentation.h"
#include "server/live/live_source.h"
#include "server/live/live_thumbnails.h"
#include "server/live/packet_tee.h"
#include "server/live/standing_presentations.h"
#include "server/segments/rendition.h"
#include "server/stream/stream_session.h"

namespace gopmill {

inline constexpr std::size_t kMaxLivePresentations = 32;
// Requests that wait for what is not there yet; more are refused (kUnavailable).
inline constexpr std::size_t kMaxLiveWaiting = 1024;
// How long a request may wait: three target durations, as RFC 8216bis has it, and no longer than
// the front end does; for what has just been started, this.
inline constexpr std::chrono::seconds kMaxLiveWait(20);

struct LiveSegmentOptions {
  SegmentDefaults defaults;
  double part_seconds = 0.2;
  double window_seconds = 60;                      // of a playlist
  std::size_t max_bytes = std::size_t{64} << 20U;  // of each presentation
  std::chrono::seconds idle{30};                   // without a request, then it ends
};

// What it needs of the service it belongs to.
struct LiveHooks {
  std::function<Result<std::shared_ptr<LiveSource>>(const std::string&)> find;
  std::function<Result<StreamId>(SessionSpec)> admit;
  std::function<void(StreamId)> cancel;
  // Whether the stream holds anything yet of what it was admitted to; may be null: never.
  std::function<bool(StreamId)> runs = {};
  // StreamAdmission::LeavesOut; may be null: all are let in.
  std::function<Result<std::size_t>(std::span<const StreamPlan>, std::uint16_t service_class,
                                    bool all)>
      leaves_out = {};
  std::shared_ptr<UnitObserver> observer;  // of thumbnails; may be null
};

struct LiveSegmentStats {
  std::size_t presentations = 0, waiting = 0, bytes = 0;
  std::uint64_t started = 0, answered = 0, refused = 0, timeouts = 0, thumbnails = 0;
};

class LiveSegments {
 public:
  // The scheduler, which makes thumbnails, must outlive it.
  LiveSegments(const LiveSegmentOptions& options, Scheduler& scheduler, LiveHooks hooks);
  ~LiveSegments();  // Stop
  LiveSegments(const LiveSegments&) = delete;
  LiveSegments& operator=(const LiveSegments&) = delete;

  // Begins to answer. kUnavailable where the machine has no more threads.
  Status Start();
  PartTicket Open(PartRequest request, PartCallback done);
  void Cancel(PartTicket ticket);
  // From now on the presentations that these requests are for, and no others, begin as soon as
  // somebody publishes their sources and stay until their streams have ended, whoever asks for
  // them.
  void Keep(std::vector<LiveRequest> requests);
  // Answers all that waits with an error, stops the streams and takes no more requests. The streams
  // may outlive it but not this object.
  void Stop();
  [[nodiscard]] LiveSegmentStats stats() const;

  // Tickets of this service have this bit.
  static constexpr PartTicket kTicketBit = PartTicket{1} << 63U;

 private:
  struct Fresh {
    PartTicket ticket = 0;
    PartRequest request;
    PartCallback done;
  };
  struct Running {  // used by the one thread
    std::shared_ptr<LivePresentation> presentation;
    std::shared_ptr<PacketTee> tee;  // until its streams are stopped
    std::vector<StreamId> streams;
    TimePoint used;
    bool stopped = false;
    bool forgotten = false;  // nobody asked for it: there as long as its streams are
  };
  struct Waiting {
    PartTicket ticket = 0;
    LiveRequest request;
    std::shared_ptr<Running> running;  // null: for a publisher, or room
    PartCallback done;
    TimePoint deadline;
  };
  struct Standing {  // one that is to be there anyway
    LiveRequest request;
    StandingPace pace;
    std::shared_ptr<LivePresentation> presentation;  // while it runs
  };
  // What can be said now; nothing = it has to wait.
  using Answered = std::optional<Result<MediaPart>>;
  void Run();
  bool Take(std::deque<Fresh>& fresh, std::unordered_set<PartTicket>& left);
  void Accept(Fresh fresh);
  Answered Answer(Waiting& waiting);
  // Whether its manifest, asked for without a version, is the last one of a presentation that is
  // over.
  [[nodiscard]] bool TellsTheEnd(const LiveRequest& request, const Running& running) const;
  // Null while nobody publishes, or streams of an earlier presentation hold what it would need.
  Result<std::shared_ptr<Running>> Find(const LiveRequest& request);
  Result<std::shared_ptr<Running>> Start(const LiveRequest& request);
  [[nodiscard]] Duration PatienceWith(const Waiting& waiting) const;
  // Why there is no answer in time.
  [[nodiscard]] Error BroughtNothing(const Waiting& waiting) const;
  struct Wanted {  // what its streams are to make
    std::vector<TargetRequest> streams;
    std::vector<Adjustment> adjustments;
  };
  Result<LiveSetup> Plan(const LiveRequest& request,
                         const std::shared_ptr<const SourceInfo>& source, Wanted& wanted);
  Status FitIntoRoom(const LiveRequest& request, const std::shared_ptr<const SourceInfo>& source,
                     std::vector<RenditionTarget>& renditions, Wanted& wanted);
  Result<LiveSetup::PictureMaker> ThumbnailMaker(const std::string& class_name);
  Status StartStreams(const LiveRequest& request, const Wanted& wanted,
                      const std::shared_ptr<PictureStore>& pictures, Running& running);
  void StopStreams(Running& running);
  [[nodiscard]] bool HasStreams(const Running& running) const;
  // To make room: the one that nobody has asked for longest.
  void ForgetOneThatIsOver();
  void TakeKept();
  void BeginStanding();
  void Follow(Standing& standing);
  void Begin(Standing& standing);
  static void LogFailure(Standing& standing, const Error& why);
  [[nodiscard]] bool Stands(const std::string& key, const Running& running) const;
  void AnswerWaiting();
  void EndIdle();
  void Wake();
  void Reply(const PartCallback& done, Result<MediaPart> part);

  const LiveSegmentOptions options_;
  Scheduler& scheduler_;
  const LiveHooks hooks_;
  LiveThumbnails thumbnails_;

  // Used by the one thread.
  std::map<std::string, std::shared_ptr<Running>> running_;
  std::deque<Waiting> waiting_;
  std::map<std::string, Standing> standing_;  // by the keys of their requests
  std::uint64_t next_version_ = 0;

  mutable Mutex mutex_;  // guards all below
  CondVar changed_;
  std::deque<Fresh> fresh_ GOPMILL_GUARDED_BY(mutex_);
  std::unordered_set<PartTicket> left_ GOPMILL_GUARDED_BY(mutex_);
  PartTicket next_ticket_ GOPMILL_GUARDED_BY(mutex_) = kTicketBit;
  std::optional<std::vector<LiveRequest>> kept_ GOPMILL_GUARDED_BY(mutex_);  // until it is taken
  bool news_ GOPMILL_GUARDED_BY(mutex_) = false;
  bool stopping_ GOPMILL_GUARDED_BY(mutex_) = false;
  LiveSegmentStats stats_ GOPMILL_GUARDED_BY(mutex_);

  std::jthread thread_;  // last: started when everything above is ready
};

}  // namespace gopmill
