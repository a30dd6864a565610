// SPDX-License-Identifier: Apache-2.0
#include "server/service/media_service.h"

#include <algorithm>
#include <fstream>
#include <span>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/thread.h"
#include "config/ratio_file.h"
#include "scheduler/policy_registry.h"
#include "scheduler/worker_layout.h"
#include "server/segments/segment_request.h"

namespace gopmill {
namespace {

Result<SegmentOptions> OptionsOf(const ServerConfig::Segments& config) {
  SegmentOptions options;
  options.defaults.segment_seconds = static_cast<double>(config.milliseconds) / 1000;
  GOPMILL_ASSIGN_OR_RETURN(options.defaults.ladder, ParseRungs(config.ladder, "segments.ladder"));
  options.cache_folder =
      config.cache_folder == "auto" ? DefaultSegmentFolder() : config.cache_folder;
  options.cache_bytes = config.cache_bytes;
  return options;
}

// The parts of the disk cache that are for what was read of movies: for indexes, and for the list
// of the library, whose small files large ones would push out. The rest is for segments.
constexpr std::int64_t kIndexShare = 4, kListShare = 64;

std::unique_ptr<DiskCache> OpenCache(const SegmentOptions& options, const std::string& folder,
                                     std::int64_t share, const std::string& what) {
  const bool keeps = !options.cache_folder.empty();
  return DiskCache::Open(options.cache_folder + folder, keeps ? options.cache_bytes / share : 0,
                         what);
}

SegmentOptions WithMovieCache(SegmentOptions options, DiskCache& movies) {
  options.cache_bytes -= options.cache_bytes / kIndexShare + options.cache_bytes / kListShare;
  options.movies = &movies;
  return options;
}

// There is nothing to be read ahead for where no index is kept.
Status CheckIndexAhead(const ServerConfig::Segments& config) {
  if (config.index_ahead != "on" || config.cache_bytes > 0) return OkStatus();
  return Error{.code = Code::kInvalidArgument,
               .message = "Movies cannot be read ahead where segments.cache_bytes is 0.",
               .parameter = "segments.index_ahead",
               .accepted = "off, or on with a cache"};
}

Result<EngineOptions> EngineOptionsOf(const ServerConfig& config) {
  EngineOptions options;
  options.scheduler.policy = config.scheduler.policy;
  options.scheduler.workers = static_cast<int>(config.scheduler.workers);
  GOPMILL_ASSIGN_OR_RETURN(options.scheduler.rules, WithRatioFiles(config.scheduler.options));
  GOPMILL_RETURN_IF_ERROR(
      CheckOptionsAreRead(options.scheduler.rules, std::span(&config.scheduler.policy, 1)));
  options.scheduler.classes = config.scheduler.classes;
  options.context_cache_bytes = static_cast<std::size_t>(config.context_cache_bytes);
  return options;
}

LiveOptions LiveOptionsOf(const ServerConfig::Live& config) {
  return {.replace = config.second_publisher == "replace",
          .patience = std::chrono::seconds(config.reader_patience_seconds)};
}

LiveSegmentOptions LiveSegmentOptionsOf(const ServerConfig::Segments& config,
                                        const SegmentDefaults& defaults) {
  return {.defaults = defaults,
          .part_seconds = static_cast<double>(config.part_milliseconds) / 1000,
          .window_seconds = static_cast<double>(config.dvr_seconds),
          .max_bytes = static_cast<std::size_t>(config.live_bytes),
          .idle = std::chrono::seconds(config.live_idle_seconds)};
}

}  // namespace

Status MediaService::Check(const ServerConfig& config) {
  GOPMILL_RETURN_IF_ERROR(PresentationsOf(config));
  GOPMILL_RETURN_IF_ERROR(CheckIndexAhead(config.segments));
  GOPMILL_ASSIGN_OR_RETURN(const EngineOptions options, EngineOptionsOf(config));
  return Engine::Check(options);
}

Result<std::vector<LiveRequest>> MediaService::PresentationsOf(const ServerConfig& config) {
  GOPMILL_ASSIGN_OR_RETURN(const SegmentOptions options, OptionsOf(config.segments));
  return ParseStandingPresentations(config.live.presentations, options.defaults);
}

Result<std::unique_ptr<MediaService>> MediaService::Create(const ServerConfig& config,
                                                           std::shared_ptr<UnitObserver> observer) {
  GOPMILL_ASSIGN_OR_RETURN(Library library, Library::Open(config.library));
  GOPMILL_ASSIGN_OR_RETURN(const EngineOptions options, EngineOptionsOf(config));
  GOPMILL_ASSIGN_OR_RETURN(const SegmentOptions segments, OptionsOf(config.segments));
  GOPMILL_ASSIGN_OR_RETURN(auto presentations, PresentationsOf(config));
  GOPMILL_ASSIGN_OR_RETURN(auto engine, Engine::Create(options));
  std::unique_ptr<MediaService> service(new MediaService(
      config, std::move(library), std::move(engine), segments,
      LiveSegmentOptionsOf(config.segments, segments.defaults), std::move(observer)));
  service->live_segments_.Keep(std::move(presentations));
  GOPMILL_RETURN_IF_ERROR(service->Start());
  return service;
}

MediaService::MediaService(const ServerConfig& config, Library library,
                           std::unique_ptr<Engine> engine, const SegmentOptions& segments,
                           const LiveSegmentOptions& live, std::shared_ptr<UnitObserver> observer)
    : library_(std::move(library)),
      engine_(std::move(engine)),
      observer_(std::move(observer)),
      admission_(std::make_shared<StreamAdmission>(
          std::vector<ServiceClass>(engine_->scheduler().classes().begin(),
                                    engine_->scheduler().classes().end()),
          engine_->scheduler().worker_count(),
          static_cast<double>(config.streams.promise_percent) / 100)),
      scripts_(library_),
      uploads_(segments.cache_folder, config.http.spool_bytes),
      movies_(OpenCache(segments, "/movies", kIndexShare, "indexes of movies")),
      sources_(OpenCache(segments, "/sources", kListShare, "descriptions of movies")),
      segments_(library_, scripts_, engine_->scheduler(), WithMovieCache(segments, *movies_),
                observer_),
      live_segments_(live, engine_->scheduler(), HooksForLive()),
      fanouts_(HooksForFanout()),
      config_(config),
      wanted_workers_(engine_->scheduler().worker_count()),
      reports_(library_, *engine_, live_, *sources_, [this] { return NextStream(); }) {
  live_.Configure(LiveOptionsOf(config.live));
  if (config.segments.index_ahead == "on") {
    index_ahead_.emplace(library_, segments_, *movies_, [this] { return ActivityOfClients(); });
  }
}

Status MediaService::Start() {
  GOPMILL_RETURN_IF_ERROR(segments_.Start());
  GOPMILL_RETURN_IF_ERROR(live_segments_.Start());
  GOPMILL_ASSIGN_OR_RETURN(reaper_, StartThread([this] { Reap(); }));
  GOPMILL_RETURN_IF_ERROR(reports_.Start());
  return index_ahead_ ? index_ahead_->Start() : OkStatus();
}

MediaService::~MediaService() {
  StartDraining();
  live_segments_.Stop();
  live_.Stop();
  fanouts_.Stop();
  CancelAll();
  if (!WaitIdle(kLongEnd)) LogRunning();
  while (!WaitIdle(std::chrono::minutes(1))) LogRunning();
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  reports_.Stop();
  changed_.NotifyAll();
}

FileReports::Next MediaService::NextStream() const {
  const MutexLock lock(mutex_);
  return {.stream = StreamId{next_id_}, .policy = config_.scheduler.policy};
}

LiveHooks MediaService::HooksForLive() {
  return {.find = [this](const std::string& name) { return live_.Find(name); },
          .admit =
              [this](SessionSpec spec) {
                MakeLive(spec);
                return Admit(std::move(spec));
              },
          .cancel = [this](StreamId id) { static_cast<void>(CancelStream(id)); },
          .runs = [this](StreamId id) { return IsRunning(id); },
          .leaves_out =
              [admission = admission_](std::span<const StreamPlan> plans,
                                       std::uint16_t service_class, bool all) {
                return admission->LeavesOut(plans, service_class, all, SteadyNow());
              },
          .observer = observer_};
}

FanoutHooks MediaService::HooksForFanout() {
  return {.cancel = [this](StreamId id) { static_cast<void>(CancelStream(id)); },
          .on_left =
              [this] {
                {
                  const MutexLock lock(mutex_);
                  readers_left_ = true;
                }
                changed_.NotifyAll();
              }};
}

// Called by the last thread of a stream as its last act: the session is destroyed by the reaper.
void MediaService::OnClosed(StreamId id) {
  {
    const MutexLock lock(mutex_);
    closed_.push_back(id);
  }
  changed_.NotifyAll();
}

void MediaService::Reap() {
  while (true) {
    std::shared_ptr<StreamSession> session;
    bool readers = false;
    {
      const MutexLock lock(mutex_);
      while (closed_.empty() && !readers_left_ && !stopping_) changed_.Wait(mutex_);
      if (!readers_left_ && closed_.empty()) return;
      readers = std::exchange(readers_left_, false);
    }
    if (readers) fanouts_.JoinEnded();
    {
      const MutexLock lock(mutex_);
      if (closed_.empty()) continue;
      const auto found = running_.find(closed_.front());
      closed_.pop_front();
      // The stream stays in the table until its threads are gone, so that it is always visible.
      StreamSnapshot snapshot = found->second->Snapshot();
      totals_.done += snapshot.state == StreamState::kDone ? 1 : 0;
      totals_.failed += snapshot.state == StreamState::kFailed ? 1 : 0;
      totals_.cancelled += snapshot.state == StreamState::kCancelled ? 1 : 0;
      totals_.Add(snapshot);
      // Wrong names would push out what is worth looking at.
      const bool unknown = snapshot.error && snapshot.error->code == Code::kNotFound;
      if (!unknown) ended_.push_back(std::move(snapshot));
      if (ended_.size() > kKeptStreams) ended_.pop_front();
      session = std::move(found->second);
      replaced_.erase(found->first);
      running_.erase(found);
    }
    session.reset();  // joins its threads, without the lock; or who cancels it just now does
    changed_.NotifyAll();
  }
}

IndexAhead::Activity MediaService::ActivityOfClients() const {
  const SegmentStats parts = segments_.stats();
  const std::uint64_t answered = parts.playlists + parts.segments + parts.not_modified;
  const std::uint64_t others = parts.made + parts.shared + parts.failed + parts.cancelled;
  const bool waited = engine_->scheduler().Stats().waiting_units > 0;
  const bool parts_wanted = parts.making > 0 || parts.unanswered > 0;
  const MutexLock lock(mutex_);
  // Live streams may never end, and need no disk: what they need is that workers keep up.
  const bool movies = std::ranges::any_of(
      running_, [](const auto& each) { return each.second != nullptr && !each.second->live(); });
  return {.busy = movies || parts_wanted || waited, .requests = answered + others + next_id_};
}

bool MediaService::Ready() const {
  const MutexLock lock(mutex_);
  return !draining_;
}

void MediaService::StartDraining() {
  live_segments_.Keep({});  // what is made for nobody would not end by itself
  if (index_ahead_) index_ahead_->Stop();
  const MutexLock lock(mutex_);
  draining_ = true;
}

bool MediaService::WaitIdle(std::chrono::milliseconds timeout) {
  const TimePoint deadline = SteadyNow() + timeout;
  const MutexLock lock(mutex_);
  while (!Idle() && SteadyNow() < deadline) changed_.WaitFor(mutex_, deadline - SteadyNow());
  return Idle();
}

void MediaService::LogRunning() const {
  const MutexLock lock(mutex_);
  for (const auto& [id, session] : running_) {
    spdlog::warn("stream {} does not end: {}", id.value, session->Snapshot().source);
  }
}

bool MediaService::Idle() const { return running_.empty() && fanouts_.readers() == 0; }

void MediaService::CancelAll() {
  std::vector<std::shared_ptr<StreamSession>> sessions;
  {
    const MutexLock lock(mutex_);
    for (const auto& [id, session] : running_) sessions.push_back(session);
  }
  for (const auto& session : sessions) session->Cancel();
}

void MediaService::Reload(const ServerConfig& config) {
  live_.Configure(LiveOptionsOf(config.live));
  live_segments_.Keep(PresentationsOf(config).value());  // Check saw it
  {
    const MutexLock lock(mutex_);
    config_ = config;
  }
  FitWorkers();
}

void MediaService::FitWorkers(const CgroupPaths& cgroup) {
  // Without a file descriptor for it nothing is known; that is no quota less.
  const bool known = static_cast<bool>(std::ifstream(cgroup.membership));
  Scheduler& scheduler = engine_->scheduler();
  const int started = scheduler.worker_count();
  // Files are read without the lock, which what answers clients takes, too.
  const int allowed = DefaultWorkerCount(scheduler.topology(), CgroupCpuQuota(cgroup));
  int wanted = 0;
  {
    const MutexLock lock(mutex_);
    const auto set = static_cast<int>(config_.scheduler.workers);
    if (set == 0 && !known) return;
    wanted = set > 0 ? set : allowed;
    if (wanted == std::exchange(wanted_workers_, wanted)) return;
  }
  const int in_service = std::min(wanted, started);
  scheduler.SetInService(in_service);
  admission_->SetWorkers(in_service);
  spdlog::info("{} of {} workers are in service", in_service, started);
  if (wanted > started) {
    spdlog::warn("there may be {} workers now; {} were started, more need a restart", wanted,
                 started);
  }
}

int MediaService::running() const {
  const MutexLock lock(mutex_);
  return static_cast<int>(running_.size());
}

}  // namespace gopmill
