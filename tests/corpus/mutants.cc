// SPDX-License-Identifier: Apache-2.0
//
// Spoils movies of the corpus at random and transcodes each with --verify:
//   corpus_mutants --count N [--seed S] [--only NUMBER] [--memory MIB] FOLDER
// FOLDER has one folder per case with a movie in it. A mutant must end within ten seconds and in
// 1 GiB of memory, in a clear error or in a result that the verifier finds nothing wrong with, and
// that reports what it lacks: whose plain decode has rejected packets, or has more pictures than
// were decoded here, must have repairs or damage in its report. Half are made with all their sound
// tracks, half at their own frame rate. Mutant NUMBER is a function of the seed and the number
// alone; the one being worked on is printed when the program dies.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "media/source.h"
#include "server/offline/transcode_file.h"
#include "tests/corpus/memory_limit.h"
#include "tests/corpus/mutation.h"
#include "tests/corpus/plain_reading.h"
#include "tests/sanitized.h"

namespace gopmill {
namespace {

namespace fs = std::filesystem;

// Of CPU time, so that a busy machine is not taken for a hang; and of the clock, for one that
// waits.
constexpr unsigned kLongestCpuSeconds = GOPMILL_SANITIZED ? 30 : 10;
constexpr unsigned kLongestSeconds = 60;
constexpr int kLongestMovieSeconds = 3600;
constexpr int kOwnRateSeconds = 20;  // many times as long as the movies are

// For the signal handler.
std::int64_t current_mutant = 0;
char current_movie[256] = {};

void OnDeath(int signal) {
  char text[400];
  const int length = std::snprintf(
      text, sizeof text, "\nmutant %lld of %s: %s\n", static_cast<long long>(current_mutant),
      current_movie, signal == SIGALRM || signal == SIGPROF ? "no end in time" : "crash");
  if (length > 0) static_cast<void>(!write(STDERR_FILENO, text, static_cast<std::size_t>(length)));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void Watch(bool on) {
  alarm(on ? kLongestSeconds : 0);
  itimerval timer{};
  timer.it_value.tv_sec = on ? kLongestCpuSeconds : 0;
  setitimer(ITIMER_PROF, &timer, nullptr);
}

std::vector<char> Content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// A frame rate that is spoilt makes hours of a few frames: work that nobody would call a hang.
bool LastsForHours(const std::string& path) {
  auto source = Source::Open(UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC)), {});
  return source.ok() && (*source)->info()->duration.ToDouble() > kLongestMovieSeconds;
}

// At its own rate every picture is shown, so that each that is lost must be told of; but a spoilt
// rate makes many of them.
TranscodeJob JobFor(const std::string& input, OutputFile& output, std::int64_t number) {
  TranscodeJob job;
  job.input = input;
  job.output = &output;
  job.verify = true;
  job.request.width = 64;
  job.request.bitrate = 100'000;
  job.request.preset = Preset::kUltrafast;
  job.request.audio.all = number % 2 == 1;
  if (number % 4 < 2) {
    job.request.duration = Rational{kOwnRateSeconds, 1};
  } else {
    job.request.fps = Rational{8, 1};
    if (LastsForHours(input)) job.request.duration = Rational{kLongestMovieSeconds, 1};
  }
  job.scheduler.workers = 2;
  return job;
}

// What of the pictures was lost or made up, as the report says it.
bool ReportsDamage(const nlohmann::json& report) {
  const auto& repairs = report["repairs"];
  return repairs["truncated"].get<bool>() || repairs["frames_concealed"] > 0 ||
         repairs["damaged_video_packets"] > 0 || repairs["timestamps_repaired"] > 0;
}

// Empty = the report has what a plain decode shows to be lost. Where times are spoilt, the last
// pictures of a unit may be shown by no frame, and need not be decoded.
std::string JudgeReport(const std::string& input, const TranscodeReport& report) {
  constexpr std::int64_t kLeftAtAnEnd = 3;
  const auto plain = ReadPlainly(input);
  const nlohmann::json json = nlohmann::json::parse(report.json);
  if (!plain || ReportsDamage(json) || report.out_seconds >= kOwnRateSeconds) return "";
  const auto decoded = json["counts"]["source_frames_decoded"].get<std::int64_t>();
  const auto units = json["counts"]["units_done"].get<std::int64_t>();
  const auto left_out = json["repairs"]["frames_left_out"].get<std::int64_t>();
  const std::int64_t missing = plain->pictures + plain->rejected - decoded - left_out;
  const bool all_decoded = decoded >= plain->pictures;
  if (missing <= (all_decoded ? 0 : kLeftAtAnEnd * units)) return "";
  return fmt::format("{} pictures of {}, {} rejected, were decoded and no damage is reported",
                     decoded, plain->pictures + plain->rejected, plain->rejected);
}

// Empty = right.
std::string Judge(const std::string& input, const std::string& output, std::int64_t number) {
  auto file = OutputFile::Choose(output, true);
  if (!file.ok()) return file.error().message;
  const TranscodeJob job = JobFor(input, *file, number);
  const std::int64_t refused = RefusedAllocations();
  const auto report = TranscodeFile(job, {}, [](const Progress&) {});
  if (RefusedAllocations() > refused) {
    return fmt::format("too much memory, of which {} KiB at once", LargestRefused() >> 10U);
  }
  if (report.ok()) {
    if (!report->violations.empty()) return "verify: " + report->violations.front();
    Watch(true);  // anew: a plain decode is no part of the transcode
    return job.request.fps ? "" : JudgeReport(input, *report);
  }
  const Error& error = report.error();
  if (error.message.empty()) return "an error without a word";
  const bool of_source = error.code == Code::kUnsupported || error.code == Code::kCorrupt;
  // Where the first time is spoilt, the others may all lie behind the part that is asked for.
  const bool of_part = job.request.duration && error.parameter == "duration";
  return of_source || of_part ? "" : fmt::format("{}: {}", CodeName(error.code), error.message);
}

std::vector<fs::path> MoviesIn(const fs::path& folder) {
  std::vector<fs::path> movies;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const bool made = fs::exists(entry.path().parent_path() / "reading");
    if (made && entry.path().stem() == "movie") movies.push_back(entry.path());
  }
  std::ranges::sort(movies);
  return movies;
}

struct Options {
  std::int64_t count = 100, only = -1, memory = 1024;
  std::uint64_t seed = 1;
  std::string folder;
};

Options Parse(int argc, char** argv) {
  Options options;
  const auto number = [](std::string_view text) {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  };
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (!name.starts_with("--") || i + 1 == argc) {
      options.folder = name;
      continue;
    }
    const std::int64_t value = number(argv[++i]);
    if (name == "--count") options.count = value;
    if (name == "--only") options.only = value;
    if (name == "--memory") options.memory = value;
    if (name == "--seed") options.seed = static_cast<std::uint64_t>(value);
  }
  return options;
}

int Run(const Options& options) {
  const std::vector<fs::path> movies = MoviesIn(options.folder);
  if (movies.empty()) {
    fmt::print(stderr, "no movies in {}\n", options.folder);
    return 1;
  }
  const fs::path scratch = fs::temp_directory_path() / fmt::format("gopmill-mutants-{}", getpid());
  fs::create_directories(scratch);
  LimitMemory(static_cast<std::size_t>(options.memory) << 20U);
  for (const int signal : {SIGALRM, SIGPROF, SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) {
    std::signal(signal, OnDeath);
  }
  int wrong = 0;
  std::int64_t results = 0;
  const std::int64_t first = std::max<std::int64_t>(options.only, 0);
  const std::int64_t end = options.only >= 0 ? first + 1 : options.count;
  for (std::int64_t number = first; number < end; ++number) {
    Random random(options.seed * 1'000'003 + static_cast<std::uint64_t>(number));
    const fs::path& movie = movies[Below(random, movies.size())];
    current_mutant = number;
    std::snprintf(current_movie, sizeof current_movie, "%s", movie.c_str());
    const fs::path input = scratch / ("in" + movie.extension().string()),
                   output = scratch / "out.mp4";
    const std::vector<char> data = Mutant(Content(movie), random);
    std::ofstream(input, std::ios::binary)
        .write(data.data(), static_cast<std::streamsize>(data.size()));
    Watch(true);
    const std::string finding = Judge(input, output, number);
    Watch(false);
    results += fs::remove(output) ? 1 : 0;
    if (finding.empty()) continue;
    ++wrong;
    fmt::print(stderr, "mutant {} of {}: {}\n", number, movie.string(), finding);
  }
  if (options.only >= 0) {
    fmt::print("the mutant is in {}\n", scratch.string());
  } else {
    fs::remove_all(scratch);
  }
  fmt::print("{} mutants, {} with a result, {} findings\n", end - first, results, wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace gopmill

int main(int argc, char** argv) { return gopmill::Run(gopmill::Parse(argc, argv)); }
