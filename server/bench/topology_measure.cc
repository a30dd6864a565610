// SPDX-License-Identifier: Apache-2.0
#include "server/bench/topology_measure.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <memory>
#include <utility>

#include "codec/unit_transcoder.h"
#include "media/av_error.h"
#include "media/ingest.h"
#include "scheduler/thread_executor.h"
#include "server/bench/stream_run.h"
#include "server/stream/engine.h"

namespace gopmill::bench {
namespace {

constexpr std::size_t kContextBytes = std::size_t{64} << 20U;  // as a worker of the server
constexpr std::size_t kMaxGops = 16;
constexpr int kWarmUps = 3;  // runs of each core before the first sample
const BenchStream kTarget{.movie = {}, .width = 352, .height = 288, .fps = 26, .bitrate = 100'000};

struct Material {
  std::shared_ptr<const StreamPlan> plan;
  std::shared_ptr<const EncoderSpec> encoder;
  std::vector<std::shared_ptr<const UnitInput>> gops;  // each decodable alone, in order
};

Error BadMovie(const std::string& message) {
  return InvalidArgument("movie", message,
                         "a movie of some seconds with closed groups of pictures; tools/movies "
                         "makes the bundled ones");
}

Error Unusable(const std::string& movie, const Error& reason) {
  if (reason.code == Code::kCancelled) return reason;
  return BadMovie(movie + " cannot be used: " + reason.message);
}

// Units that need no decoder of a unit before them and leave none behind.
Result<std::vector<std::shared_ptr<const UnitInput>>> ReadGops(Ingest& ingest) {
  std::vector<std::shared_ptr<const UnitInput>> gops;
  while (gops.size() < kMaxGops) {
    GOPMILL_ASSIGN_OR_RETURN(Ingest::Item item, ingest.Next());
    if (std::holds_alternative<EndOfSource>(item)) break;
    auto* const unit = std::get_if<UnitInput>(&item);
    if (unit == nullptr || unit->spec.cut == CutKind::kChained || !unit->spec.ends_run) continue;
    gops.push_back(std::make_shared<const UnitInput>(std::move(*unit)));
  }
  return gops;
}

Result<Material> Load(const std::string& movie, const std::stop_token& stop) {
  UniqueFd fd(open(movie.c_str(), O_RDONLY | O_CLOEXEC));
  std::error_code ignored;
  if (!fd.valid() || std::filesystem::is_directory(movie, ignored)) {
    return BadMovie("There is no movie " + movie + ".");
  }
  const StreamRunOptions options;
  GOPMILL_ASSIGN_OR_RETURN(const TargetRequest request, RequestOf(kTarget, 0, options));
  auto ingest = Ingest::Open(std::move(fd), request, stop);
  if (!ingest.ok()) return Unusable(movie, ingest.error());
  Material material{.plan = (*ingest)->plan(), .encoder = nullptr, .gops = {}};
  GOPMILL_ASSIGN_OR_RETURN(EncoderSpec spec, MakeEncoderSpec(*material.plan));
  material.encoder = std::make_shared<const EncoderSpec>(std::move(spec));
  auto gops = ReadGops(**ingest);
  if (!gops.ok()) return Unusable(movie, gops.error());
  material.gops = std::move(*gops);
  if (material.gops.size() < 2) {
    return BadMovie(
        fmt::format("{} has {} groups of pictures that can be decoded alone; two are needed.",
                    movie, material.gops.size()));
  }
  return material;
}

// What came of one run on a core.
struct StepEnd {
  JobReport report;
  Status status;
  std::int64_t bytes = 0;  // coded
};

class Discard : public UnitOutput {
 public:
  void OnEncoder(std::shared_ptr<const AVCodecParameters> /*parameters*/) override {}
  void OnPacket(av::Packet /*packet*/) override {}
  void OnRunReady(std::unique_ptr<RunState> /*state*/) override {}
};

// One GOP as a job. `cache` may be one that another core used before: cores are told to work on it
// one after the other, and the executor's inbox orders what they do.
class GopStep : public Job {
 public:
  GopStep(const Material& material, std::size_t gop, ContextCache& cache, std::stop_token stop)
      : task_{.plan = material.plan,
              .encoder = material.encoder,
              .input = material.gops[gop],
              .run = {}},
        cache_(cache),
        stop_(std::move(stop)) {}

  std::future<StepEnd> End() { return end_.get_future(); }
  JobOutcome Run(WorkerContext& /*worker*/) noexcept override {
    Discard output;
    const auto stats = TranscodeUnit(std::move(task_), cache_, stop_, output);
    if (stats.ok()) {
      bytes_ = stats->bytes;
      return JobOutcome::kDone;
    }
    status_ = stats.error();
    return JobOutcome::kFailed;
  }
  void OnReport(const JobReport& report) noexcept override {
    end_.set_value({.report = report, .status = std::move(status_), .bytes = bytes_});
  }

 private:
  UnitTask task_;
  ContextCache& cache_;
  const std::stop_token stop_;
  Status status_;
  std::int64_t bytes_ = 0;
  std::promise<StepEnd> end_;
};

class Nobody : public ExecutorListener {
 public:
  void OnFinished(const JobReport& /*report*/, std::unique_ptr<Job> /*job*/) override {}
};

// Pinned threads, and the stream that is at home on each of them.
class Cores {
 public:
  Cores(const Material& material, std::stop_token stop, std::vector<int> cpus)
      : material_(material),
        stop_(std::move(stop)),
        executor_({.pu_os_indices = std::move(cpus), .pin = true, .make_local = {}}) {}
  ~Cores() { executor_.Stop(); }
  Cores(const Cores&) = delete;
  Cores& operator=(const Cores&) = delete;

  Status Launch();
  // One run of one case, after both cores have done the GOP before.
  Result<GopTime> Run(MoveCase which, int home, int other, std::size_t gop);

 private:
  std::future<StepEnd> Begin(int core, std::size_t gop, ContextCache& cache);
  Status WorkOnBoth(int home, int other, std::size_t gop);
  ContextCache& StreamOf(int core) { return *streams_[static_cast<std::size_t>(core)]; }

  const Material& material_;
  const std::stop_token stop_;
  Nobody listener_;
  std::vector<std::unique_ptr<ContextCache>> streams_;
  std::vector<std::int64_t> coded_;  // bytes of each GOP: contexts must not change them
  ThreadExecutor executor_;          // ends its threads before the rest goes
};

std::future<StepEnd> Cores::Begin(int core, std::size_t gop, ContextCache& cache) {
  auto step = std::make_unique<GopStep>(material_, gop, cache, stop_);
  std::future<StepEnd> end = step->End();
  const WorkerId worker{core};
  Ticket ticket;
  ticket.job = std::move(step);
  ticket.report.worker = worker;
  executor_.Start(worker, std::move(ticket));
  executor_.Wake(worker);
  return end;
}

Status Cores::WorkOnBoth(int home, int other, std::size_t gop) {
  auto at_home = Begin(home, gop, StreamOf(home));
  auto at_other = Begin(other, gop, StreamOf(other));
  const StepEnd first = at_home.get(), second = at_other.get();
  return first.status.ok() ? second.status : first.status;
}

Status Cores::Launch() {
  GOPMILL_RETURN_IF_ERROR(executor_.Launch(listener_));
  coded_.assign(material_.gops.size(), -1);
  for (const WorkerPlacement& placement : executor_.Placements()) {
    if (!placement.pinned) {
      return Error{.code = Code::kUnavailable,
                   .message = fmt::format("No thread can be pinned to CPU {}: {}.",
                                          placement.pu_os_index, placement.warning)};
    }
    streams_.push_back(std::make_unique<ContextCache>(kContextBytes));
    for (int run = 0; run < kWarmUps; ++run) {
      auto end = Begin(placement.worker.value, 0, *streams_.back());
      GOPMILL_RETURN_IF_ERROR(end.get().status);
    }
  }
  return OkStatus();
}

Result<GopTime> Cores::Run(MoveCase which, int home, int other, std::size_t gop) {
  GOPMILL_RETURN_IF_ERROR(WorkOnBoth(home, other, gop - 1));
  const bool away = which == MoveCase::kMoved || which == MoveCase::kCold;
  ContextCache unused(kContextBytes);
  ContextCache& cache = which == MoveCase::kCold ? unused : StreamOf(home);
  const StepEnd end = Begin(away ? other : home, gop, cache).get();
  GOPMILL_RETURN_IF_ERROR(end.status);
  const std::int64_t before = std::exchange(coded_[gop], end.bytes);
  if (before >= 0 && before != end.bytes) {
    return InternalError("A GOP gave other bytes with other contexts.");
  }
  return GopTime{.cpu_ms = ToMillis(end.report.cpu),
                 .wall_ms = ToMillis(end.report.finished - end.report.started)};
}

Result<MoveSample> Sample(Cores& cores, int a, int b, int repeat, std::size_t gops) {
  MoveSample sample;
  const bool swapped = repeat % 2 == 1;
  const std::size_t gop = 1 + static_cast<std::size_t>(repeat) % (gops - 1);
  for (std::size_t i = 0; i < kMoveCases; ++i) {
    const std::size_t which = (i + static_cast<std::size_t>(repeat / 2)) % kMoveCases;
    GOPMILL_ASSIGN_OR_RETURN(sample.times[which], cores.Run(static_cast<MoveCase>(which),
                                                            swapped ? b : a, swapped ? a : b, gop));
  }
  return sample;
}

// The CPUs of the pairs, each once: worker w runs on the w-th.
std::vector<int> CpusOf(const std::vector<PairSamples>& pairs) {
  std::vector<int> cpus;
  for (const PairSamples& each : pairs) cpus.insert(cpus.end(), {each.cpu_a, each.cpu_b});
  std::ranges::sort(cpus);
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

Status Measure(const Material& material, const MoveOptions& options, const std::stop_token& stop,
               const std::function<void(int)>& progress, MoveResult& result) {
  const std::vector<int> cpus = CpusOf(result.pairs);
  const auto core = [&cpus](int cpu) {
    return static_cast<int>(std::ranges::lower_bound(cpus, cpu) - cpus.begin());
  };
  Cores cores(material, stop, cpus);
  GOPMILL_RETURN_IF_ERROR(cores.Launch());
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    for (PairSamples& each : result.pairs) {
      GOPMILL_ASSIGN_OR_RETURN(
          const MoveSample sample,
          Sample(cores, core(each.cpu_a), core(each.cpu_b), repeat, material.gops.size()));
      each.samples.push_back(sample);
    }
    if (progress) progress(repeat + 1);
  }
  return OkStatus();
}

}  // namespace

Result<MoveResult> MeasureMoves(const Topology& topology, const MoveOptions& options,
                                const std::stop_token& stop,
                                const std::function<void(int)>& progress) {
  if (options.repeats < 1 || options.repeats > kMaxMoveRepeats) {
    return InvalidArgument("repeats", "The number of repeats is out of range.",
                           fmt::format("1 to {}", kMaxMoveRepeats));
  }
  MoveResult result;
  for (const PuPair& pair : PairsPerLevel(topology)) {
    result.pairs.push_back({.pair = pair,
                            .cpu_a = topology.pu(pair.a).os_index,
                            .cpu_b = topology.pu(pair.b).os_index,
                            .samples = {}});
  }
  if (result.pairs.empty()) {
    return Error{.code = Code::kUnavailable,
                 .message = "This process may use one CPU only: nothing can be moved to another."};
  }
  for (const NodeKind level : kRatioLevels) {
    const bool measured = std::ranges::any_of(
        result.pairs, [level](const PairSamples& each) { return each.pair.level == level; });
    if (!measured) result.not_measured.push_back(level);
  }
  TuneAllocator();
  av::SilenceFfmpeg();
  GOPMILL_ASSIGN_OR_RETURN(const Material material, Load(options.movie, stop));
  result.movie = std::filesystem::path(options.movie).filename().string();
  result.target = fmt::format("{}x{} at {} frames/s, {} kb/s", kTarget.width, kTarget.height,
                              kTarget.fps, kTarget.bitrate / 1000);
  result.repeats = options.repeats;
  result.gops = std::min(static_cast<int>(material.gops.size()) - 1, options.repeats);
  GOPMILL_RETURN_IF_ERROR(Measure(material, options, stop, progress, result));
  return result;
}

}  // namespace gopmill::bench
