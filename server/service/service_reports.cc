// SPDX-License-Identifier: Apache-2.0
//
// The side of MediaService that tells of its streams.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/dump_json.h"
#include "server/service/media_service.h"
#include "server/stream/plan_json.h"
#include "server/stream/seam_json.h"
#include "server/stream/stream_trace.h"
#include "server/stream/workers_json.h"

namespace gopmill {

std::string MediaService::Metrics() const {
  ServiceMetrics metrics;
  metrics.scheduler = engine_->scheduler().Stats();
  metrics.cache = engine_->cache_stats();
  metrics.segments = segments_.stats();
  metrics.movies = movies_->stats();
  metrics.sources = sources_->stats();
  if (index_ahead_) metrics.index_ahead = index_ahead_->stats();
  metrics.spooled_bytes = uploads_.used_bytes();
  metrics.live = live_.Totals();
  metrics.admission = admission_->Stats();
  metrics.live_segments = live_segments_.stats();
  metrics.fanouts = fanouts_.stats();
  metrics.process = ReadProcessStats();
  {
    const MutexLock lock(mutex_);
    metrics.totals = totals_;
    metrics.totals.refused += admission_->refused();
    metrics.streams_running = static_cast<int>(running_.size());
    for (const auto& [id, session] : running_) {
      const StreamSnapshot snapshot = session->Snapshot();
      metrics.totals.Add(snapshot);
      metrics.worst_jitter_ms =
          std::max(metrics.worst_jitter_ms, snapshot.order.after().jitter_ms());
    }
  }
  return MetricsText(metrics);
}

namespace {

using ReadersByStream = std::map<StreamId, std::vector<ReaderSnapshot>>;

StreamSnapshot SnapshotWith(const ReadersByStream& readers, const StreamSession& session) {
  StreamSnapshot snapshot = session.Snapshot();
  if (const auto found = readers.find(snapshot.id); found != readers.end()) {
    snapshot.readers = found->second;
  }
  return snapshot;
}

}  // namespace

std::string MediaService::Streams() const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  const ReadersByStream readers = fanouts_.Readers();
  const MutexLock lock(mutex_);
  for (const auto& [id, session] : running_) {
    list.push_back(StreamJson(SnapshotWith(readers, *session)));
  }
  for (auto it = ended_.rbegin(); it != ended_.rend(); ++it) list.push_back(StreamJson(*it));
  return DumpJson(nlohmann::ordered_json{{"streams", std::move(list)}}, 2);
}

// Of a reader: the stream that it reads.
Result<StreamSnapshot> MediaService::SnapshotOf(StreamId id) const {
  const StreamId stream = fanouts_.EncodeOf(id).value_or(id);
  const ReadersByStream readers = fanouts_.Readers();
  const MutexLock lock(mutex_);
  if (const auto found = running_.find(stream); found != running_.end()) {
    return SnapshotWith(readers, *found->second);
  }
  for (const StreamSnapshot& snapshot : ended_) {
    if (snapshot.id == stream) return snapshot;
  }
  return Error{.code = Code::kNotFound,
               .message = "There is no stream with this id, or it ended long ago."};
}

Result<std::string> MediaService::Stream(StreamId id) const {
  GOPMILL_ASSIGN_OR_RETURN(const StreamSnapshot snapshot, SnapshotOf(id));
  return ToJson(snapshot);
}

Result<std::string> MediaService::Seams(StreamId id) const {
  GOPMILL_ASSIGN_OR_RETURN(const StreamSnapshot snapshot, SnapshotOf(id));
  return SeamsJson(snapshot.seams, *snapshot.seam_log);
}

Result<std::string> MediaService::Trace(StreamId id) const {
  GOPMILL_ASSIGN_OR_RETURN(const StreamSnapshot snapshot, SnapshotOf(id));
  return StreamTraceJson(snapshot, engine_->scheduler().Stats().workers);
}

std::string MediaService::Workers() const {
  const Scheduler& scheduler = engine_->scheduler();
  SchedulerStats stats = scheduler.StatsWithRuns();
  return WorkersJson({.begin = started_,
                      .now = SteadyNow(),
                      .policy = engine_->policy(),
                      .topology = scheduler.topology(),
                      .classes = scheduler.classes(),
                      .stats = std::move(stats)});
}

}  // namespace gopmill
