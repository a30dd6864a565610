// SPDX-License-Identifier: Apache-2.0
#include "server/session/media_service.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/thread.h"
#include "config/ratio_file.h"
#include "media/packet_feed.h"
#include "media/resolve_target.h"
#include "media/source.h"
#include "scheduler/policy_registry.h"
#include "server/session/live_request.h"
#include "server/session/movie_texts.h"
#include "server/session/request_params.h"
#include "server/session/segment_request.h"

namespace gopmill {
namespace {

Error Draining() {
  return Error{.code = Code::kUnavailable,
               .message = "The server is shutting down and takes no new streams."};
}

Result<SegmentOptions> OptionsOf(const ServerConfig::Segments& config) {
  SegmentOptions options;
  options.defaults.segment_seconds = static_cast<double>(config.milliseconds) / 1000;
  GOPMILL_ASSIGN_OR_RETURN(options.defaults.ladder, ParseRungs(config.ladder, "segments.ladder"));
  options.cache_folder =
      config.cache_folder == "auto" ? DefaultSegmentFolder() : config.cache_folder;
  options.cache_bytes = config.cache_bytes;
  return options;
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

// Whoever sends packets by a protocol of its own (RTSP) sends them in the order of display, as
// cameras do, unless asked otherwise: that is sooner by three pictures.
bool WantsBFrames(const TargetRequest& request, bool live, StreamSink& sink) {
  const bool plain = live && sink.packets() != nullptr &&
                     request.vcodec.value_or(VideoCodec::kH264) == VideoCodec::kH264;
  return MayHaveBFrames(request, !plain);
}

// Equal for requests with the same parameters, whether they say `bframes` or have it by default.
std::string FanoutKey(const std::string& path, RequestParams params, bool b_frames) {
  std::erase_if(params, [](const auto& param) { return param.first == "bframes"; });
  params.emplace_back("bframes", b_frames ? "on" : "off");
  return path + QueryFor(params, "");
}

// Equal requests for what comes now get the same, whatever protocol they came by; a length is
// counted from each one's own begin.
bool MayShare(const SessionSpec& spec) {
  return spec.open_packets && !spec.request.start && !spec.request.duration;
}

}  // namespace

Status MediaService::Check(const ServerConfig& config) {
  GOPMILL_RETURN_IF_ERROR(OptionsOf(config.segments));
  GOPMILL_ASSIGN_OR_RETURN(const EngineOptions options, EngineOptionsOf(config));
  return Engine::Check(options);
}

Result<std::unique_ptr<MediaService>> MediaService::Create(const ServerConfig& config,
                                                           std::shared_ptr<UnitObserver> observer) {
  GOPMILL_ASSIGN_OR_RETURN(Library library, Library::Open(config.library));
  GOPMILL_ASSIGN_OR_RETURN(const EngineOptions options, EngineOptionsOf(config));
  GOPMILL_ASSIGN_OR_RETURN(const SegmentOptions segments, OptionsOf(config.segments));
  GOPMILL_ASSIGN_OR_RETURN(auto engine, Engine::Create(options));
  std::unique_ptr<MediaService> service(new MediaService(
      config, std::move(library), std::move(engine), segments,
      LiveSegmentOptionsOf(config.segments, segments.defaults), std::move(observer)));
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
      segments_(library_, scripts_, engine_->scheduler(), segments, observer_),
      live_segments_(live, engine_->scheduler(), HooksForLive()),
      fanouts_(HooksForFanout()),
      config_(config) {
  live_.Configure(LiveOptionsOf(config.live));
}

Status MediaService::Start() {
  GOPMILL_RETURN_IF_ERROR(segments_.Start());
  GOPMILL_RETURN_IF_ERROR(live_segments_.Start());
  GOPMILL_ASSIGN_OR_RETURN(reaper_, StartThread([this] { Reap(); }));
  GOPMILL_ASSIGN_OR_RETURN(file_thread_, StartThread([this] { RunFileRequests(); }));
  return OkStatus();
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
  file_stop_.request_stop();
  changed_.NotifyAll();
}

Result<StreamId> MediaService::OpenStream(const std::string& path, const RequestParams& params,
                                          std::unique_ptr<StreamSink> sink) {
  return OpenEntry(path, params, std::move(sink), std::nullopt);
}

Result<StreamId> MediaService::ReplaceStream(StreamId before, const std::string& path,
                                             const RequestParams& params,
                                             const SinkMaker& make_sink) {
  const StreamId id = TakePlaceOf(before);
  admission_->GoOn(before, id);
  auto sink = make_sink();
  static_cast<void>(CancelStream(before));  // it may have ended
  auto opened = OpenEntry(path, params, std::move(sink), id);
  if (!opened.ok()) {
    admission_->Release(id);
    const MutexLock lock(mutex_);
    expected_.erase(id);
  }
  return opened;
}

// The number of the stream that will have it.
StreamId MediaService::TakePlaceOf(StreamId before) {
  const MutexLock lock(mutex_);
  const StreamId id{next_id_++};
  if (running_.contains(before) && replaced_.insert(before).second) expected_.insert(id);
  return id;
}

Result<StreamId> MediaService::OpenEntry(const std::string& path, const RequestParams& params,
                                         std::unique_ptr<StreamSink> sink,
                                         std::optional<StreamId> place) {
  GOPMILL_ASSIGN_OR_RETURN(TargetRequest request, ParseParams(params));
  SessionSpec spec;
  spec.source_name = path;
  if (path.starts_with(kLivePrefix)) {
    GOPMILL_RETURN_IF_ERROR(CheckLiveTarget(request));
    GOPMILL_ASSIGN_OR_RETURN(const auto live, live_.Find(path.substr(kLivePrefix.size())));
    spec.open_packets = [live, sounds = request.audio](const std::stop_token& stop) {
      return live->Subscribe(stop, sounds, LiveSource::ReaderClock::kShared);
    };
    spec.decoders = decoders_;
    spec.pictures = live->pictures();
    MakeLive(spec);
  } else {
    spec.open = [this, path] { return library_.OpenEntry(path); };
    spec.open_again = spec.open;
    spec.read_texts = [this, path](const TargetRequest& wanted, const std::stop_token& stop) {
      return ReadTexts(path, wanted, stop);
    };
  }
  if (request.subtitles == Subtitles::kCopy && sink->packets() != nullptr) {
    return InvalidArgument("subtitles", "RTSP carries no text here.", "off");
  }
  if (request.audio.several() && sink->packets() != nullptr) {
    return InvalidArgument("audio", "RTSP carries one sound track here.",
                           "one track, like audio=2");
  }
  GOPMILL_RETURN_IF_ERROR(CheckStreamedText(request));
  spec.request = std::move(request);
  // Who takes coded packets plays them at their own pace, and as they come.
  spec.real_time = spec.real_time || sink->packets() != nullptr;
  spec.request.b_frames = WantsBFrames(spec.request, spec.live, *sink);
  if (MayShare(spec)) return JoinStream(path, params, std::move(sink), std::move(spec));
  spec.sink = std::move(sink);
  return Admit(std::move(spec), place);
}

// As one of the readers of an encode of its own kind.
Result<StreamId> MediaService::JoinStream(const std::string& path, const RequestParams& params,
                                          std::unique_ptr<StreamSink> sink, SessionSpec spec) {
  StreamId reader;
  {
    const MutexLock lock(mutex_);
    GOPMILL_RETURN_IF_ERROR(CheckRoom());
    reader = StreamId{next_id_++};
  }
  const std::string key = FanoutKey(path, params, *spec.request.b_frames);
  GOPMILL_RETURN_IF_ERROR(
      fanouts_.Join(key, reader, std::move(sink), [&](std::unique_ptr<StreamSink> fanout) {
        spec.sink = std::move(fanout);
        return Admit(std::move(spec));
      }));
  return reader;
}

Result<StreamId> MediaService::OpenUpload(UniqueFd body, const RequestParams& params,
                                          std::unique_ptr<StreamSink> sink) {
  SessionSpec spec;
  GOPMILL_ASSIGN_OR_RETURN(spec.request, ParseParams(params));
  spec.source_name = "(upload)";
  const auto shared_body = std::make_shared<UniqueFd>(std::move(body));
  spec.open = [shared_body]() -> Result<UniqueFd> { return std::move(*shared_body); };
  spec.sink = std::move(sink);
  return Admit(std::move(spec));
}

Status MediaService::Publish(const std::string& name, const std::string& from, UniqueFd body,
                             JsonCallback done) {
  if (!Ready()) return Draining();
  const auto shared_body = std::make_shared<UniqueFd>(std::move(body));
  return live_.Publish(
      name, from,
      [shared_body](const std::stop_token& stop) -> Result<std::unique_ptr<PacketSource>> {
        GOPMILL_ASSIGN_OR_RETURN(
            auto source,
            Source::Open(std::move(*shared_body), stop,
                         {.texts = TextUse::kWebVtt, .audio = {.all = true}, .live = true}));
        return std::unique_ptr<PacketSource>(std::move(source));
      },
      std::move(done));
}

Status MediaService::PublishPackets(const std::string& name, const std::string& from,
                                    std::shared_ptr<PacketFeed> feed, JsonCallback done) {
  if (!Ready()) return Draining();
  return live_.Publish(
      name, from,
      [feed = std::move(feed)](const std::stop_token& stop) {
        return PacketFeed::Open(feed, stop);
      },
      std::move(done));
}

// A machine that does not keep up shall drop what is old, not collect it.
void MediaService::MakeLive(SessionSpec& spec) const {
  spec.limits.window_units = engine_->scheduler().worker_count() + 2;
  spec.real_time = true;
  spec.live = true;
}

// Gives the stream its number and starts it, if there is room for it.
Result<StreamId> MediaService::Admit(SessionSpec spec, std::optional<StreamId> place) {
  spec.on_closed = [this](StreamId id) { OnClosed(id); };
  spec.observer = observer_;
  spec.admission = admission_;
  // Goes after the lock: one that could not be launched ends with its client and its source.
  std::shared_ptr<StreamSession> session;
  const MutexLock lock(mutex_);
  if (place) expected_.erase(*place);
  GOPMILL_RETURN_IF_ERROR(CheckRoom());
  const StreamId id = place ? *place : StreamId{next_id_++};
  spec.id = id;
  spec.degrades = spec.live && config_.live.degradation == "on";
  spec.number = streams_started_;
  spec.limits.window_bytes = static_cast<std::size_t>(config_.streams.window_bytes);
  GOPMILL_ASSIGN_OR_RETURN(session, StreamSession::Create(std::move(spec), engine_->scheduler()));
  GOPMILL_RETURN_IF_ERROR(session->Launch());
  ++streams_started_;
  running_[id] = std::move(session);
  return id;
}

// Of streams that readers share each reader counts, and not the stream. Those that are replaced do
// not count, unless they have become so many that they do not seem to end.
Status MediaService::CheckRoom() {
  if (draining_) return Draining();
  const auto ending =
      std::min<std::int64_t>(std::ssize(replaced_), std::max(config_.streams.max, kFewestReplaced));
  const auto used =
      static_cast<std::int64_t>(running_.size() + fanouts_.readers() + expected_.size()) -
      static_cast<std::int64_t>(fanouts_.encodes()) - ending;
  if (used < config_.streams.max) return OkStatus();
  ++totals_.refused;
  return Error{.code = Code::kUnavailable,
               .message = "All " + std::to_string(config_.streams.max) +
                          " streams of this server are in use."};
}

Status MediaService::CancelStream(StreamId id) {
  if (fanouts_.Leave(id)) return OkStatus();
  std::shared_ptr<StreamSession> session;
  {
    const MutexLock lock(mutex_);
    if (const auto found = running_.find(id); found != running_.end()) session = found->second;
  }
  if (session == nullptr) {
    return Error{.code = Code::kNotFound, .message = "There is no running stream with this id."};
  }
  session->Cancel();
  return OkStatus();
}

PartTicket MediaService::OpenPart(PartRequest request, PartCallback done) {
  if (!Ready()) {
    done(Draining());
    return 0;
  }
  if (request.path.starts_with(kLivePrefix)) {
    return live_segments_.Open(std::move(request), std::move(done));
  }
  return segments_.Open(std::move(request), std::move(done));
}

void MediaService::CancelPart(PartTicket ticket) {
  if ((ticket & LiveSegments::kTicketBit) != 0) return live_segments_.Cancel(ticket);
  segments_.Cancel(ticket);
}

LiveHooks MediaService::HooksForLive() {
  return {.find = [this](const std::string& name) { return live_.Find(name); },
          .admit =
              [this](SessionSpec spec) {
                MakeLive(spec);
                return Admit(std::move(spec));
              },
          .cancel = [this](StreamId id) { static_cast<void>(CancelStream(id)); },
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

bool MediaService::Ready() const {
  const MutexLock lock(mutex_);
  return !draining_;
}

void MediaService::StartDraining() {
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
  const MutexLock lock(mutex_);
  config_ = config;
}

int MediaService::running() const {
  const MutexLock lock(mutex_);
  return static_cast<int>(running_.size());
}

}  // namespace gopmill
