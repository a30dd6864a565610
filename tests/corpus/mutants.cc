// SPDX-License-Identifier: Apache-2.0
//
// Spoils movies of the corpus at random and transcodes each with --verify:
//   corpus_mutants --count N [--seed S] [--only NUMBER] FOLDER
// FOLDER has one folder per case with a movie in it. A mutant must end within ten seconds, in a
// clear error or in a result that the verifier finds nothing wrong with. Every other one is made
// with all its sound tracks. Mutant NUMBER is a function of the seed and the number alone; the one
// being worked on is printed when the program dies.
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
#include <random>
#include <string>
#include <vector>

#include "media/source.h"
#include "server/session/transcode_file.h"

namespace gopmill {
namespace {

namespace fs = std::filesystem;
using Random = std::mt19937_64;

// Of CPU time, so that a busy machine is not taken for a hang; and of the clock, for one that
// waits.
#if defined(__SANITIZE_ADDRESS__)
constexpr unsigned kLongestCpuSeconds = 30;
#else
constexpr unsigned kLongestCpuSeconds = 10;
#endif
constexpr unsigned kLongestSeconds = 60;
constexpr int kLongestMovieSeconds = 3600;
constexpr int kMaxChanges = 24;
constexpr std::size_t kMaxRange = 4096;

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

std::size_t Below(Random& random, std::size_t limit) {
  return limit == 0 ? 0 : static_cast<std::size_t>(random() % limit);
}

// Half of the changes hit the first kilobytes, where headers are.
std::size_t Place(Random& random, const std::vector<char>& data) {
  const std::size_t end =
      random() % 2 == 0 ? std::min<std::size_t>(data.size(), 4096) : data.size();
  return Below(random, end);
}

void Change(Random& random, std::vector<char>& data) {
  if (data.empty()) return;
  const std::size_t at = Place(random, data);
  const std::size_t length = std::min(1 + Below(random, kMaxRange), data.size() - at);
  const auto begin = data.begin() + static_cast<std::ptrdiff_t>(at);
  const auto end = begin + static_cast<std::ptrdiff_t>(length);
  switch (random() % 8) {
    case 0:
    case 1:
    case 2: *begin = static_cast<char>(random()); break;
    case 3: *begin = static_cast<char>(*begin ^ (1 << random() % 8)); break;
    case 4: std::fill(begin, end, static_cast<char>(random() % 2 == 0 ? 0 : 0xFF)); break;
    case 5: data.erase(begin, end); break;
    case 6: {
      const std::vector<char> copy(begin, end);
      data.insert(data.begin() + static_cast<std::ptrdiff_t>(Place(random, data)), copy.begin(),
                  copy.end());
      break;
    }
    default:
      for (std::size_t i = 0; i < std::min<std::size_t>(4, length); ++i) {
        begin[static_cast<std::ptrdiff_t>(i)] = static_cast<char>(i == 0 ? 0x7F : 0xFF);
      }
  }
}

std::vector<char> Mutant(const std::vector<char>& movie, Random& random) {
  std::vector<char> data = movie;
  const auto changes = 1 + Below(random, kMaxChanges);
  for (std::size_t i = 0; i < changes; ++i) Change(random, data);
  if (random() % 8 == 0) data.resize(Below(random, data.size() + 1));
  return data;
}

// A frame rate that is spoilt makes hours of a few frames: work that nobody would call a hang.
bool LastsForHours(const std::string& path) {
  auto source = Source::Open(UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC)), {});
  return source.ok() && (*source)->info()->duration.ToDouble() > kLongestMovieSeconds;
}

// Empty = right.
std::string Judge(const std::string& input, const std::string& output, bool all_sounds) {
  TranscodeJob job;
  job.input = input;
  job.output = output;
  job.force = true;
  job.verify = true;
  job.request.width = 64;
  job.request.fps = Rational{8, 1};
  job.request.bitrate = 100'000;
  job.request.preset = Preset::kUltrafast;
  job.request.audio.all = all_sounds;
  if (LastsForHours(input)) job.request.duration = Rational{kLongestMovieSeconds, 1};
  job.scheduler.workers = 2;
  const auto report = TranscodeFile(job, {}, [](const Progress&) {});
  if (report.ok()) return report->violations.empty() ? "" : "verify: " + report->violations.front();
  if (report.error().message.empty()) return "an error without a word";
  return report.error().code == Code::kInternal ? "internal: " + report.error().message : "";
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
  std::int64_t count = 100, only = -1;
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
    const std::string finding = Judge(input, output, number % 2 == 1);
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
