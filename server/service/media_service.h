// SPDX-License-Identifier: Apache-2.0
//
// The Service behind all front ends of `gopmill serve`: the library, the table of streams and the
// engine.
//
// A stream's own threads do its work; one more thread reaps ended streams, and one answers what has
// to read files (sources, explain, HEAD). Ended streams stay visible for a while, the newest
// kKeptStreams.
//
// Thread-safety: safe.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

#include "base/thread_safety.h"
#include "config/server_config.h"
#include "scheduler/cgroup_quota.h"
#include "server/api/service.h"
#include "server/files/disk_cache.h"
#include "server/files/library.h"
#include "server/files/script_shelf.h"
#include "server/files/upload_spool.h"
#include "server/live/fanout_table.h"
#include "server/live/live_hub.h"
#include "server/live/live_segments.h"
#include "server/segments/index_ahead.h"
#include "server/segments/segment_service.h"
#include "server/service/file_reports.h"
#include "server/service/service_metrics.h"
#include "server/stream/engine.h"
#include "server/stream/stream_admission.h"
#include "server/stream/stream_session.h"

namespace gopmill {

inline constexpr std::size_t kKeptStreams = 100;
// So many streams may be ending while others have their places already, or `streams.max` if that is
// more.
inline constexpr std::int64_t kFewestReplaced = 16;

class MediaService : public Service {
 public:
  // Whether Create would take these settings: the ladder, live presentations, and all of the
  // scheduler. Starts nothing.
  static Status Check(const ServerConfig& config);
  // What `live.presentations` asks for.
  static Result<std::vector<LiveRequest>> PresentationsOf(const ServerConfig& config);
  // `observer` (may be null) hears of all units of all streams, of segments and thumbnails.
  static Result<std::unique_ptr<MediaService>> Create(
      const ServerConfig& config, std::shared_ptr<UnitObserver> observer = nullptr);
  // Cancels all streams and waits for them.
  ~MediaService() override;

  Result<StreamId> OpenStream(const std::string& path, const RequestParams& params,
                              std::unique_ptr<StreamSink> sink) override;
  Result<StreamId> ReplaceStream(StreamId before, const std::string& path,
                                 const RequestParams& params, const SinkMaker& make_sink) override;
  Result<StreamId> OpenUpload(UniqueFd body, const RequestParams& params,
                              std::unique_ptr<StreamSink> sink) override;
  Status Publish(const std::string& name, const std::string& from, UniqueFd body,
                 JsonCallback done) override;
  Status PublishPackets(const std::string& name, const std::string& from,
                        std::shared_ptr<PacketFeed> feed, Takeover takeover,
                        JsonCallback done) override;
  Status CheckPublish(const std::string& name, Takeover takeover) const override;
  std::string LiveSources() const override { return live_.Json(); }
  bool LiveWanted(const std::string& name) const override { return live_.Wanted(name); }
  void SetPull(const std::string& name, PullState state) override {
    live_.SetPull(name, std::move(state));
  }
  void CheckStream(const std::string& path, const RequestParams& params, std::stop_token left,
                   JsonCallback done) override {
    reports_.CheckStream(path, params, std::move(left), done);
  }
  Status CancelStream(StreamId id) override;
  PartTicket OpenPart(PartRequest request, PartCallback done) override;
  void CancelPart(PartTicket ticket) override;
  void Sources(std::stop_token left, TextCallback done) override {
    reports_.Sources(std::move(left), done);
  }
  void Explain(const std::string& path, const RequestParams& params, std::stop_token left,
               JsonCallback done) override {
    reports_.Explain(path, params, std::move(left), done);
  }
  std::string Streams() const override;
  Result<std::string> Stream(StreamId id) const override;
  Result<std::string> Seams(StreamId id) const override;
  Result<std::string> Trace(StreamId id) const override;
  std::string Workers() const override;
  std::string Metrics() const override;
  bool Ready() const override;
  bool LibraryReadable() const override { return reports_.library_readable(); }

  // Refuses new streams from now on.
  void StartDraining();
  // Waits until all streams have ended, at most `timeout`; true when none is left.
  bool WaitIdle(std::chrono::milliseconds timeout);
  // Stops all streams.
  void CancelAll();
  // Applies what may change while running (limits of new streams, workers in service).
  void Reload(const ServerConfig& config);
  // Takes workers out of service, or back: `scheduler.workers` says how many there are, with 0 what
  // the cgroup's CPU quota allows now, and never are there more than were started. To be called now
  // and then by the thread that calls Reload; reads the cgroup's files.
  void FitWorkers(const CgroupPaths& cgroup = {});
  [[nodiscard]] int running() const;
  // What IndexAhead gives way to: movies that are played, asked for, or wait for a worker.
  [[nodiscard]] IndexAhead::Activity ActivityOfClients() const;

 private:
  MediaService(const ServerConfig& config, Library library, std::unique_ptr<Engine> engine,
               const SegmentOptions& segments, const LiveSegmentOptions& live,
               std::shared_ptr<UnitObserver> observer);
  Status Start();
  [[nodiscard]] Duration OpeningWaits() const;
  void LogRunning() const;
  void MakeLive(SessionSpec& spec) const;
  FileReports::Next NextStream() const;
  LiveHooks HooksForLive();
  FanoutHooks HooksForFanout();
  Result<StreamId> JoinStream(const std::string& path, const RequestParams& params,
                              std::unique_ptr<StreamSink> sink, SessionSpec spec);
  Result<StreamId> OpenEntry(const std::string& path, const RequestParams& params,
                             std::unique_ptr<StreamSink> sink, std::optional<StreamId> place);
  // `place`: its number, if TakePlaceOf gave it one.
  Result<StreamId> Admit(SessionSpec spec, std::optional<StreamId> place = {});
  StreamId TakePlaceOf(StreamId before);
  Status CheckRoom() GOPMILL_REQUIRES(mutex_);
  Result<StreamSnapshot> SnapshotOf(StreamId id) const;
  [[nodiscard]] bool Idle() const GOPMILL_REQUIRES(mutex_);
  [[nodiscard]] bool IsRunning(StreamId id) const;
  void OnClosed(StreamId id);
  void Reap();
  Result<PlanTexts> ReadTexts(const std::string& path, const TargetRequest& request,
                              const std::stop_token& stop);

  const TimePoint started_ = SteadyNow();  // before any worker
  const Library library_;
  LiveHub live_;
  const std::unique_ptr<Engine> engine_;
  const std::shared_ptr<UnitObserver> observer_;
  const std::shared_ptr<StreamAdmission> admission_;
  ScriptShelf scripts_;
  UploadSpool uploads_;
  const std::unique_ptr<DiskCache> movies_, sources_;  // indexes of movies, what they are
  SegmentService segments_;
  LiveSegments live_segments_;
  FanoutTable fanouts_;
  const std::shared_ptr<DecodeTable> decoders_ = std::make_shared<DecodeTable>();

  mutable Mutex mutex_;  // guards all below
  CondVar changed_;
  ServerConfig config_ GOPMILL_GUARDED_BY(mutex_);
  std::uint64_t next_id_ GOPMILL_GUARDED_BY(mutex_) = 1;
  // Those that transcode; readers that share one have ids too.
  std::uint64_t streams_started_ GOPMILL_GUARDED_BY(mutex_) = 0;
  // Who cancels a stream holds it meanwhile, without the lock: its sink may do anything.
  std::map<StreamId, std::shared_ptr<StreamSession>> running_ GOPMILL_GUARDED_BY(mutex_);
  // Those of them whose place another has, so that they are ending; those that will have one.
  std::set<StreamId> replaced_ GOPMILL_GUARDED_BY(mutex_);
  std::set<StreamId> expected_ GOPMILL_GUARDED_BY(mutex_);
  std::deque<StreamId> closed_ GOPMILL_GUARDED_BY(mutex_);       // to be reaped
  std::deque<StreamSnapshot> ended_ GOPMILL_GUARDED_BY(mutex_);  // newest last
  StreamTotals totals_ GOPMILL_GUARDED_BY(mutex_);
  bool readers_left_ GOPMILL_GUARDED_BY(mutex_) = false;  // threads of some are to be joined
  int wanted_workers_ GOPMILL_GUARDED_BY(mutex_) = 0;     // by the last FitWorkers
  bool draining_ GOPMILL_GUARDED_BY(mutex_) = false;
  bool stopping_ GOPMILL_GUARDED_BY(mutex_) = false;

  std::jthread reaper_;
  FileReports reports_;                    // its thread uses all above
  std::optional<IndexAhead> index_ahead_;  // where that is set; the same
};

}  // namespace gopmill
