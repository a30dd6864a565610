// SPDX-License-Identifier: Apache-2.0
//
// The yardstick: the reference workload by the barest loop there is. Everything is demuxed to
// memory beforehand; then pinned threads take GOPs from one counter and decode, scale and encode
// them, nothing else: no plan, no order, no muxer, no rate control of ours.
//
//   gop_loop_bench --streams 20 --duration 20 --threads 2
//
// Each thread keeps one decoder and one scaler per stream; each GOP gets a new x264 encoder with
// the settings the engine uses (one thread, the preset, the target's rate). The allocator is tuned
// as in the engine. Sources must have closed GOPs and no audio is read.
#include <fmt/format.h>
#include <pthread.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "media/av_error.h"
#include "server/bench/process_usage.h"
#include "server/bench/workload.h"
#include "server/stream/engine.h"
#include "tools/bench/gop_codec.h"

namespace gopmill {
namespace {

struct Options {
  std::string movies = "movies/files", preset = "veryfast", json;
  int streams = 20, threads = 2;
  double duration = 20;  // seconds of each movie
  double bitrate_factor = 1;
  double crf = 0;  // in place of the targets' bit rates; 0 = those
};

struct Work {
  std::size_t stream;
  const bench::Gop* gop;
};

struct Yardstick {
  std::vector<bench::BenchStream> streams;
  std::vector<bench::Movie> movies;  // one per stream
  std::vector<Work> work;            // a GOP of each stream in turn, as if all played at once
  std::atomic<std::size_t> next{0};
  std::atomic<std::int64_t> bytes{0}, frames{0};
};

bool Load(const Options& options, Yardstick& yardstick) {
  yardstick.streams = bench::ReferenceWorkload(options.streams, options.movies);
  for (bench::BenchStream& stream : yardstick.streams) {
    stream.bitrate = std::llround(options.bitrate_factor * static_cast<double>(stream.bitrate));
    auto movie = bench::LoadMovie(stream.movie, options.duration);
    if (!movie.ok()) {
      fmt::print(stderr, "gop_loop_bench: {}\n", movie.error().ToString());
      return false;
    }
    yardstick.movies.push_back(std::move(movie).value());
  }
  bool more = true;
  for (std::size_t row = 0; more; ++row) {
    more = false;
    for (std::size_t s = 0; s < yardstick.movies.size(); ++s) {
      if (row >= yardstick.movies[s].gops.size()) continue;
      yardstick.work.push_back({s, &yardstick.movies[s].gops[row]});
      more = true;
    }
  }
  return true;
}

void Pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

void WorkLoop(Yardstick& yardstick, const Options& options, int cpu) {
  Pin(cpu);
  std::vector<std::unique_ptr<bench::GopCodec>> codecs(yardstick.streams.size());
  while (true) {
    const std::size_t n = yardstick.next.fetch_add(1, std::memory_order_relaxed);
    if (n >= yardstick.work.size()) return;
    const Work& work = yardstick.work[n];
    auto& codec = codecs[work.stream];
    if (codec == nullptr) {
      codec = std::make_unique<bench::GopCodec>(yardstick.movies[work.stream],
                                                yardstick.streams[work.stream], options.preset,
                                                options.crf);
    }
    const bench::Coded coded = codec->Transcode(*work.gop);
    yardstick.bytes.fetch_add(coded.bytes, std::memory_order_relaxed);
    yardstick.frames.fetch_add(coded.frames, std::memory_order_relaxed);
  }
}

nlohmann::ordered_json Measure(const Options& options, Yardstick& yardstick) {
  const bench::ProcessUsage before = bench::UsageNow();
  const TimePoint start = SteadyNow();
  {
    const int cpus = static_cast<int>(std::thread::hardware_concurrency());
    std::vector<std::jthread> threads;
    for (int t = 0; t < options.threads; ++t) {
      threads.emplace_back([&, t] { WorkLoop(yardstick, options, t % cpus); });
    }
  }
  const double wall = ToSeconds(SteadyNow() - start);
  const bench::ProcessUsage usage = bench::UsageNow() - before;
  const double cpu = usage.cpu_seconds();
  const auto gops = static_cast<double>(yardstick.work.size());
  return {{"streams", options.streams},
          {"threads", options.threads},
          {"wall_s", wall},
          {"cpu_s", cpu},
          {"system_s", usage.system_seconds},
          {"gops", yardstick.work.size()},
          {"gops_per_s", gops / wall},
          {"gops_per_cpu_s", gops / cpu},
          {"frames", yardstick.frames.load()},
          {"video_bytes", yardstick.bytes.load()},
          {"peak_bytes", usage.peak_bytes},
          {"minor_faults", usage.minor_faults}};
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("The reference workload by the bare GOP loop");
  app.add_option("--streams", options.streams, "Streams")->check(CLI::Range(1, 10'000));
  app.add_option("--duration", options.duration, "Seconds of each movie");
  app.add_option("--threads", options.threads, "Pinned threads")->check(CLI::Range(1, 256));
  app.add_option("--preset", options.preset, "x264 preset");
  app.add_option("--bitrate-factor", options.bitrate_factor,
                 "Of the targets' bit rates, which x264 alone misses by a GOP of half a second")
      ->check(CLI::Range(0.1, 10.0));
  app.add_option("--crf", options.crf, "Rate factor of all streams in place of the bit rates")
      ->check(CLI::Range(1.0, 51.0));
  app.add_option("--movies", options.movies, "Folder of the reference movies");
  app.add_option("--json", options.json, "Write the result here too");
  CLI11_PARSE(app, argc, argv);
  TuneAllocator();
  av::SilenceFfmpeg();
  Yardstick yardstick;
  if (!Load(options, yardstick)) return 1;
  const std::string report = Measure(options, yardstick).dump(2);
  fmt::print("{}\n", report);
  if (options.json.empty()) return 0;
  std::ofstream file(options.json);
  file << report << '\n';
  return file.good() ? 0 : 1;
}

}  // namespace
}  // namespace gopmill

int main(int argc, char** argv) { return gopmill::Main(argc, argv); }
