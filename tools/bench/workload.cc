// SPDX-License-Identifier: Apache-2.0
//
// The reference workload through the engine: N streams at once in one process, as the server runs
// them, with sinks that only count.
//
//   workload_bench --streams 20 --duration 20 --scheduler h-cahrw --json result.json
//
// Reports the time until the last stream is done, GOPs (units) per second and per CPU second, peak
// memory, hits of the context cache, departures out of order, and time to the first byte.
#include <fcntl.h>
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "server/session/engine.h"
#include "server/session/stream_session.h"
#include "tools/bench/reference_workload.h"

namespace gopmill {
namespace {

struct Options {
  std::string movies = "movies/files", scheduler = "h-cahrw", unit = "gop", preset = "veryfast";
  std::string json;
  int streams = 20, workers = 0;
  std::string duration = "20";  // seconds of each movie
  bool audio = false;
};

class CountingSink : public StreamSink {
 public:
  Status Start(const StreamStart&) override { return OkStatus(); }
  Status Write(std::span<const std::uint8_t>) override { return OkStatus(); }
  void Finish(const StreamEnd&) override {}
};

Result<TargetRequest> RequestOf(const ReferenceStream& stream, const Options& options) {
  TargetRequest request;
  const std::vector<std::pair<const char*, std::string>> params = {
      {"size", fmt::format("{}x{}", stream.width, stream.height)},
      {"fps", std::to_string(stream.fps)},
      {"bitrate", std::to_string(stream.bitrate)},
      {"fit", "stretch"},
      {"preset", options.preset},
      {"acodec", options.audio ? "aac" : "none"},
      {"duration", options.duration},
      {"unit", options.unit},
  };
  for (const auto& [name, value] : params) {
    GOPMILL_RETURN_IF_ERROR(SetParam(request, name, value));
  }
  return request;
}

Result<SessionSpec> SpecOf(const ReferenceStream& stream, std::uint64_t number,
                           const Options& options) {
  SessionSpec spec;
  spec.id = StreamId{number + 1};
  spec.number = number;
  spec.source_name = stream.movie;
  spec.open = [path = stream.movie]() -> Result<UniqueFd> {
    UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return Error{.code = Code::kNotFound, .message = "No movie " + path + "."};
    return fd;
  };
  GOPMILL_ASSIGN_OR_RETURN(spec.request, RequestOf(stream, options));
  spec.mux.streamed = true;
  spec.sink = std::make_unique<CountingSink>();
  return spec;
}

struct Totals {
  std::int64_t units = 0, frames = 0, video_bytes = 0, reordered = 0;
  double first_byte_ms_sum = 0, first_byte_ms_max = 0;
  StageTimes stages;
};

Status Add(const StreamSnapshot& snapshot, Totals& totals) {
  if (snapshot.error) return *snapshot.error;
  totals.units += snapshot.units_done;
  totals.frames += snapshot.frames_out;
  totals.video_bytes += snapshot.video_bytes;
  totals.reordered += snapshot.order.reordered();
  const double first = ToMillis(snapshot.first_byte.value_or(snapshot.elapsed));
  totals.first_byte_ms_sum += first;
  totals.first_byte_ms_max = std::max(totals.first_byte_ms_max, first);
  totals.stages.decode += snapshot.stages.decode;
  totals.stages.filter += snapshot.stages.filter;
  totals.stages.encode += snapshot.stages.encode;
  totals.stages.cpu += snapshot.stages.cpu;
  return OkStatus();
}

double HitRate(std::int64_t hits, std::int64_t misses) {
  return hits + misses == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(hits + misses);
}

nlohmann::ordered_json Report(const Options& options, const Totals& totals, const Engine& engine,
                              double wall, const ProcessUsage& usage) {
  const CacheStats cache = engine.cache_stats();
  const auto units = static_cast<double>(totals.units);
  return {{"streams", options.streams},
          {"scheduler", options.scheduler},
          {"workers", engine.scheduler().worker_count()},
          {"unit", options.unit},
          {"wall_s", wall},
          {"cpu_s", usage.cpu_seconds()},
          {"system_s", usage.system_seconds},
          {"worker_cpu_s", ToSeconds(totals.stages.cpu)},
          {"decode_s", ToSeconds(totals.stages.decode)},
          {"filter_s", ToSeconds(totals.stages.filter)},
          {"encode_s", ToSeconds(totals.stages.encode)},
          {"gops", totals.units},
          {"gops_per_s", units / wall},
          {"gops_per_cpu_s", units / usage.cpu_seconds()},
          {"frames", totals.frames},
          {"video_bytes", totals.video_bytes},
          {"peak_bytes", usage.peak_bytes},
          {"minor_faults", usage.minor_faults},
          {"decoder_hit_rate", HitRate(cache.decoder_hits, cache.decoder_misses)},
          {"filter_hit_rate", HitRate(cache.filter_hits, cache.filter_misses)},
          {"encoder_hit_rate", HitRate(cache.encoder_hits, cache.encoder_misses)},
          {"out_of_order_rate", static_cast<double>(totals.reordered) / std::max(units, 1.0)},
          {"away_from_home_rate", engine.scheduler().Stats().Disruption()},
          {"first_byte_ms_mean", totals.first_byte_ms_sum / options.streams},
          {"first_byte_ms_max", totals.first_byte_ms_max}};
}

Result<nlohmann::ordered_json> Run(const Options& options) {
  GOPMILL_ASSIGN_OR_RETURN(
      const auto engine,
      Engine::Create({.scheduler = {.policy = options.scheduler, .workers = options.workers}}));
  std::vector<SessionSpec> specs;
  for (const ReferenceStream& stream : ReferenceWorkload(options.streams, options.movies)) {
    GOPMILL_ASSIGN_OR_RETURN(specs.emplace_back(), SpecOf(stream, specs.size(), options));
  }
  const ProcessUsage before = UsageNow();
  const TimePoint start = SteadyNow();
  std::vector<std::unique_ptr<StreamSession>> sessions;
  for (SessionSpec& spec : specs) {
    GOPMILL_ASSIGN_OR_RETURN(sessions.emplace_back(),
                             StreamSession::Start(std::move(spec), engine->scheduler()));
  }
  for (const auto& session : sessions) session->Wait();
  const double wall = ToSeconds(SteadyNow() - start);
  const ProcessUsage usage = UsageNow() - before;
  Totals totals;
  for (const auto& session : sessions) GOPMILL_RETURN_IF_ERROR(Add(session->Snapshot(), totals));
  return Report(options, totals, *engine, wall, usage);
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("The reference workload through the engine");
  app.add_option("--streams", options.streams, "Streams at once")->check(CLI::Range(1, 10'000));
  app.add_option("--duration", options.duration, "Seconds of each movie");
  app.add_option("--scheduler", options.scheduler, "Policy");
  app.add_option("--workers", options.workers, "Worker threads; 0 = one per CPU");
  app.add_option("--unit", options.unit, "gop or seconds");
  app.add_option("--preset", options.preset, "x264 preset");
  app.add_option("--movies", options.movies, "Folder of the reference movies");
  app.add_option("--json", options.json, "Write the result here too");
  app.add_flag("--audio", options.audio, "Transcode the sound too");
  CLI11_PARSE(app, argc, argv);
  const auto report = Run(options);
  if (!report.ok()) {
    fmt::print(stderr, "workload_bench: {}\n", report.error().ToString());
    return 1;
  }
  fmt::print("{}\n", report->dump(2));
  if (options.json.empty()) return 0;
  std::ofstream file(options.json);
  file << report->dump(2) << '\n';
  return file.good() ? 0 : 1;
}

}  // namespace
}  // namespace gopmill

int main(int argc, char** argv) { return gopmill::Main(argc, argv); }
