// SPDX-License-Identifier: Apache-2.0
#include "server/bench/stream_run.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <utility>

#include "media/target_params.h"
#include "server/stream/engine.h"
#include "server/stream/stream_session.h"

namespace gopmill::bench {
namespace {

// Owned by its session; `sample` outlives it.
class HashingSink : public StreamSink {
 public:
  explicit HashingSink(StreamSample& sample) : sample_(sample) { sample_.hash = kOffset; }
  Status Start(const StreamStart&) override { return OkStatus(); }
  Status Write(std::span<const std::uint8_t> bytes) override {
    for (const std::uint8_t byte : bytes) sample_.hash = (sample_.hash ^ byte) * kPrime;
    sample_.bytes += static_cast<std::int64_t>(bytes.size());
    return OkStatus();
  }
  void Finish(const StreamEnd&) override {}

 private:
  static constexpr std::uint64_t kOffset = 0xcbf29ce484222325ULL, kPrime = 0x100000001b3ULL;
  StreamSample& sample_;
};

// The units of one stream. On the stream's egress thread only, read after its end.
class SampleLog : public UnitObserver {
 public:
  explicit SampleLog(std::shared_ptr<UnitObserver> next) : next_(std::move(next)) {}
  void OnEnded(const UnitLife& life) noexcept override {
    samples_.push_back({.life = life, .released = {}});
    if (next_) next_->OnEnded(life);
  }
  void OnReleased(UnitId unit, TimePoint when) noexcept override {
    // It ended not long ago.
    for (auto sample = samples_.rbegin(); sample != samples_.rend(); ++sample) {
      if (sample->life.report.unit != unit) continue;
      sample->released = when;
      break;
    }
    if (next_) next_->OnReleased(unit, when);
  }
  std::vector<UnitSample>& samples() { return samples_; }

 private:
  const std::shared_ptr<UnitObserver> next_;
  std::vector<UnitSample> samples_;
};

struct StartedStream {
  std::shared_ptr<SampleLog> log;
  std::unique_ptr<StreamSession> session;
};

Result<SessionSpec> SpecOf(const BenchStream& stream, std::uint64_t number,
                           const StreamRunOptions& options, StreamSample& sample) {
  SessionSpec spec;
  spec.id = StreamId{number + 1};
  spec.number = number;
  spec.source_name = stream.movie;
  spec.open = [path = stream.movie]() -> Result<UniqueFd> {
    UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return Error{.code = Code::kNotFound, .message = "No movie " + path + "."};
    return fd;
  };
  GOPMILL_ASSIGN_OR_RETURN(spec.request, RequestOf(stream, number, options));
  spec.mux.streamed = true;
  spec.pace = stream.realtime ? IngestPace::kRealTime : IngestPace::kAsFastAsPossible;
  spec.sink = std::make_unique<HashingSink>(sample);
  sample.id = spec.id;
  sample.name = std::filesystem::path(stream.movie).filename().string() + " to " +
                std::to_string(stream.width) + "x" + std::to_string(stream.height);
  return spec;
}

ContextCounts CountsOf(const CacheStats& cache) {
  return {.warm = cache.decoder_hits + cache.filter_hits + cache.encoder_hits,
          .opened = cache.decoder_misses + cache.filter_misses + cache.encoder_misses};
}

// Begins each stream at its time. Streams are sorted by it.
Status StartAll(const StreamRunOptions& options, const std::vector<BenchStream>& streams,
                Scheduler& scheduler, const std::stop_token& stop, RunRecord& record,
                std::vector<StartedStream>& started) {
  record.streams.resize(streams.size());
  std::vector<SessionSpec> specs;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    GOPMILL_ASSIGN_OR_RETURN(specs.emplace_back(),
                             SpecOf(streams[i], i, options, record.streams[i]));
  }
  record.start = SteadyNow();
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (streams[i].begin.count() > 0 && !SleepUntil(record.start + streams[i].begin, stop)) {
      return Interrupted();
    }
    auto log = std::make_shared<SampleLog>(options.recorder);
    specs[i].observer = log;
    GOPMILL_ASSIGN_OR_RETURN(auto session, StreamSession::Start(std::move(specs[i]), scheduler));
    started.push_back({std::move(log), std::move(session)});
  }
  return OkStatus();
}

Status WaitForAll(const std::vector<StartedStream>& started, const std::stop_token& stop) {
  constexpr std::chrono::milliseconds kTick{100};
  for (const StartedStream& each : started) {
    while (!each.session->WaitFor(kTick)) {
      if (stop.stop_requested()) return Interrupted();
    }
  }
  for (const StartedStream& each : started) each.session->Wait();
  return OkStatus();
}

Status Collect(const std::vector<StartedStream>& started, RunRecord& record) {
  for (std::size_t i = 0; i < started.size(); ++i) {
    const StreamSnapshot snapshot = started[i].session->Snapshot();
    if (snapshot.error) return snapshot.error->With(record.streams[i].name);
    StreamSample& sample = record.streams[i];
    sample.frames = snapshot.frames_out;
    sample.video_bytes = snapshot.video_bytes;
    sample.first_byte = snapshot.first_byte;
    sample.mux_send = snapshot.stages.mux_send;
    auto& units = started[i].log->samples();
    std::sort(units.begin(), units.end(), [](const UnitSample& a, const UnitSample& b) {
      return a.life.report.unit < b.life.report.unit;
    });
    std::move(units.begin(), units.end(), std::back_inserter(record.units));
  }
  return OkStatus();
}

}  // namespace

Result<TargetRequest> RequestOf(const BenchStream& stream, std::uint64_t number,
                                const StreamRunOptions& options) {
  TargetRequest request;
  const std::vector<std::pair<const char*, std::string>> params = {
      {"size", std::to_string(stream.width) + "x" + std::to_string(stream.height)},
      {"fps", std::to_string(stream.fps)},
      options.crf.empty() ? std::pair{"bitrate", std::to_string(stream.bitrate)}
                          : std::pair{"crf", options.crf},
      {"fit", "stretch"},
      {"preset", options.preset},
      {"acodec", options.audio ? "aac" : "none"},
      {"duration", options.duration},
      {"unit", options.unit},
  };
  for (const auto& [name, value] : params) {
    GOPMILL_RETURN_IF_ERROR(SetParam(request, name, value));
  }
  if (!options.classes.empty()) {
    const ServiceClass& each = options.classes[number % options.classes.size()];
    GOPMILL_RETURN_IF_ERROR(SetParam(request, "class", each.name));
  }
  return request;
}

Result<RunRecord> RunStreams(const StreamRunOptions& options,
                             const std::vector<BenchStream>& streams, const std::stop_token& stop) {
  const CacheCounters cache;  // before the engine: its threads inherit the counters
  SchedulerOptions scheduling{.policy = options.policy,
                              .workers = options.workers,
                              .run_queue_units = options.run_queue_units};
  scheduling.policy_options.classes = options.classes;
  scheduling.rules = options.rules;
  GOPMILL_ASSIGN_OR_RETURN(const auto engine, Engine::Create({.scheduler = scheduling}));
  RunRecord record;
  record.classes = options.classes;
  record.policy = options.policy;
  const bool own_peak = ForgetPeak();
  const ProcessUsage before = UsageNow();
  const std::optional<double> busy_before = BusySeconds();
  {
    std::vector<StartedStream> started;
    GOPMILL_RETURN_IF_ERROR(StartAll(options, streams, engine->scheduler(), stop, record, started));
    GOPMILL_RETURN_IF_ERROR(WaitForAll(started, stop));
    record.end = SteadyNow();
    record.usage = UsageNow() - before;
    if (own_peak) record.peak_bytes = record.usage.peak_bytes;
    record.others_s = OthersSeconds(busy_before, record.usage.cpu_seconds());
    GOPMILL_RETURN_IF_ERROR(Collect(started, record));
  }
  const SchedulerStats stats = engine->scheduler().Stats();
  record.counters = stats;
  for (const WorkerStats& worker : stats.workers) {
    record.workers.push_back({.pu_os_index = worker.pu_os_index, .pinned = worker.pinned});
  }
  record.contexts = CountsOf(engine->cache_stats());
  engine->scheduler().Shutdown();
  record.cache = cache.Read();
  return record;
}

}  // namespace gopmill::bench
