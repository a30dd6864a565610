// SPDX-License-Identifier: Apache-2.0
#include "server/offline/transcode_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/dump_json.h"
#include "base/file_error.h"
#include "base/file_name.h"
#include "media/av_error.h"
#include "server/files/library.h"
#include "server/files/movie_texts.h"
#include "server/offline/verify.h"
#include "server/stream/engine.h"
#include "server/stream/explain.h"
#include "server/stream/plan_json.h"
#include "server/stream/seam_json.h"
#include "server/stream/stream_session.h"

namespace gopmill {
namespace {

constexpr std::chrono::milliseconds kProgressInterval{100};

constexpr int kPollMillis = 50;

// A pipe with a name has nothing to read until somebody writes to it, and opening it would wait for
// that where nothing can interrupt it.
Status AwaitWriter(int fd, const std::stop_token& stop) {
  pollfd poller{.fd = fd, .events = POLLIN, .revents = 0};
  while (poll(&poller, 1, kPollMillis) == 0) {
    if (stop.stop_requested()) return Cancelled();
  }
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0) {
    return InputError("The source cannot be read", errno);
  }
  return OkStatus();
}

Result<UniqueFd> OpenInput(const std::string& path, const std::stop_token& stop) {
  if (path == "-") return UniqueFd(dup(STDIN_FILENO));
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return InputError("The source '" + path + "' cannot be opened", errno);
  struct stat status {};
  if (fstat(fd.get(), &status) == 0 && S_ISDIR(status.st_mode)) {
    return InvalidArgument("input", "'" + path + "' is a folder.", "a media file or -");
  }
  if (S_ISFIFO(status.st_mode)) GOPMILL_RETURN_IF_ERROR(AwaitWriter(fd.get(), stop));
  return fd;
}

// The files of subtitles beside the input: like that itself they may be hidden, or symlinks.
std::vector<TextFile> TextFilesBeside(const std::string& input) {
  const std::size_t name = NameStart(input);
  const std::string folder = name == 0 ? "." : input.substr(0, name);
  auto library = Library::Open(folder, /*own=*/true);
  if (input == "-" || !library.ok()) return {};
  const auto shared = std::make_shared<const Library>(std::move(library).value());
  std::vector<TextFile> files = TextFilesOf(*shared, input.substr(name));
  for (TextFile& file : files) {
    file.open = [shared, open = std::move(file.open)] { return open(); };
  }
  return files;
}

// What comes from a pipe can be read once only.
bool ReadableAgain(const std::string& input) {
  std::error_code code;
  return input != "-" && std::filesystem::is_regular_file(input, code);
}

// A file is read a second time for its text.
TextReader TextReaderFor(const std::string& input) {
  if (!ReadableAgain(input)) return {};
  return [input](const TargetRequest& request, const std::stop_token& stop) -> Result<PlanTexts> {
    const auto open = [&] { return OpenInput(input, stop); };
    const auto beside = [&] { return TextFilesBeside(input); };
    const auto script = [&](int number) { return ReadScript(open, beside(), number, stop); };
    return ReadPlanTexts(request, script, open, beside, stop);
  };
}

// Bytes to stdout; a closed pipe ends the stream, a stuck one can be cancelled.
class StdoutSink : public StreamSink {
 public:
  Status Start(const StreamStart&) override { return OkStatus(); }
  Status Write(std::span<const std::uint8_t> bytes) override {
    constexpr std::size_t kPipeChunk = 4096;  // what a writable pipe takes without blocking
    while (!bytes.empty()) {
      if (cancelled_) return Cancelled();
      pollfd poller{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
      if (poll(&poller, 1, kPollMillis) == 0) continue;
      const ssize_t put = write(STDOUT_FILENO, bytes.data(), std::min(bytes.size(), kPipeChunk));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return FileError("Writing to stdout failed", errno);
      bytes = bytes.subspan(static_cast<std::size_t>(put));
    }
    return OkStatus();
  }
  void Finish(const StreamEnd&) override {}
  void Cancel() noexcept override { cancelled_ = true; }

 private:
  std::atomic<bool> cancelled_{false};
};

// The muxer writes files by itself; nothing passes here.
class FileSink : public StreamSink {
 public:
  Status Start(const StreamStart&) override { return OkStatus(); }
  Status Write(std::span<const std::uint8_t>) override { return OkStatus(); }
  void Finish(const StreamEnd&) override {}
};

Progress ProgressOf(const StreamSnapshot& s) {
  Progress p{.frames_done = s.frames_out,
             .frames_total = s.frames_total(),
             .out_seconds = s.out_seconds(),
             .total_seconds = s.total_seconds(),
             .bytes = s.bytes_out};
  const double elapsed = ToSeconds(s.elapsed - s.pass_began);
  if (s.state == StreamState::kAnalysing) {
    p.analysing = true;
    p.frames_done = s.frames_analysed;
    p.out_seconds = static_cast<double>(p.frames_done) / s.plan->grid.fps().ToDouble();
  }
  p.AddRates(elapsed);
  return p;
}

TranscodeReport ReportOf(const StreamSnapshot& s, const Engine& engine, bool with_joins) {
  TranscodeReport report;
  report.adjustments = s.adjustments;
  report.frames = s.frames_out;
  report.bytes = s.bytes_out;
  report.elapsed_seconds = ToSeconds(s.elapsed);
  report.out_seconds = s.out_seconds();
  report.out_of_order_rate = s.order.out_of_order_rate();
  report.jitter_ms = s.order.after().jitter_ms();
  report.truncated = s.truncated;
  report.damage = s.damage;
  report.frames_left_out = s.frames_left_out;
  report.vbv_violations = s.vbv_violations;
  if (report.elapsed_seconds > 0) {
    report.speed = report.out_seconds / report.elapsed_seconds;
    report.fps = static_cast<double>(report.frames) / report.elapsed_seconds;
  }
  if (report.out_seconds > 0) {
    report.video_bps = 8.0 * static_cast<double>(s.video_bytes) / report.out_seconds;
  }
  nlohmann::ordered_json json = StreamJson(s);
  json["video_bps"] = report.video_bps;
  json["scheduler"] = SchedulerJson(engine.scheduler().Stats());
  json["context_cache"] = CacheJson(engine.cache_stats());
  if (with_joins) json["joins"] = SeamListJson(*s.seam_log);
  report.json = DumpJson(json, 2);
  return report;
}

StreamSnapshot RunSession(StreamSession& session, const std::stop_token& stop,
                          const ProgressCallback& progress) {
  const std::stop_callback cancel(stop, [&session] { session.Cancel(); });
  while (!session.WaitFor(kProgressInterval)) {
    if (progress) progress(ProgressOf(session.Snapshot()));
  }
  session.Wait();
  return session.Snapshot();
}

// The certificate of what was sent, and what the file itself shows.
Status Verify(const std::string& path, const StreamSnapshot& end, const std::stop_token& stop,
              TranscodeReport& report) {
  const Target& target = end.plan->target;
  const VerifyTerms terms{.frames = end.frames_planned,
                          .fps = end.plan->grid.fps(),
                          .maxrate = target.maxrate,
                          .bufsize = target.bufsize,
                          .audio_packets = end.seams.audio_packets,
                          .audio_copied = target.acodec == AudioCodec::kCopy};
  report.certificate = SeamsText(end.seams);
  report.joins = SeamTable(*end.seam_log);
  GOPMILL_ASSIGN_OR_RETURN(const auto findings, VerifyFile(path, terms, stop));
  for (const auto& some : {SeamFindings(end.seams), FaultyJoins(*end.seam_log), findings}) {
    report.violations.insert(report.violations.end(), some.begin(), some.end());
  }
  return OkStatus();
}

}  // namespace

void Progress::AddRates(double elapsed_seconds) {
  if (elapsed_seconds > 0) {
    fps = static_cast<double>(frames_done) / elapsed_seconds;
    speed = out_seconds / elapsed_seconds;
  }
  if (speed > 0 && total_seconds > out_seconds) eta_seconds = (total_seconds - out_seconds) / speed;
}

Result<TranscodeReport> TranscodeFile(const TranscodeJob& job, const std::stop_token& stop,
                                      const ProgressCallback& progress) {
  const bool to_file = job.output != nullptr;
  if (!to_file) GOPMILL_RETURN_IF_ERROR(CheckStreamedText(job.request));
  // Opened here already: a source that does not exist should not leave traces of an output.
  GOPMILL_ASSIGN_OR_RETURN(UniqueFd input, OpenInput(job.input, stop));
  if (to_file) GOPMILL_RETURN_IF_ERROR(job.output->Create(input.get()));
  GOPMILL_ASSIGN_OR_RETURN(auto engine, Engine::Create({.scheduler = job.scheduler}));
  auto shared_input = std::make_shared<UniqueFd>(std::move(input));
  SessionSpec spec;
  spec.id = StreamId{1};
  spec.source_name = job.input;
  spec.open = [shared_input]() -> Result<UniqueFd> { return std::move(*shared_input); };
  if (ReadableAgain(job.input)) spec.open_again = [&job] { return OpenInput(job.input, {}); };
  spec.read_texts = TextReaderFor(job.input);
  spec.request = job.request;
  spec.mux = {.streamed = !to_file, .path = to_file ? job.output->temporary() : ""};
  if (to_file) {
    spec.sink = std::make_unique<FileSink>();
  } else {
    spec.sink = std::make_unique<StdoutSink>();
  }
  GOPMILL_ASSIGN_OR_RETURN(const auto session,
                           StreamSession::Start(std::move(spec), engine->scheduler()));
  const StreamSnapshot end = RunSession(*session, stop, progress);
  if (end.error) return *end.error;
  if (progress) progress(ProgressOf(end));
  const bool verify = job.verify && to_file;
  TranscodeReport report = ReportOf(end, *engine, verify);
  if (verify) GOPMILL_RETURN_IF_ERROR(Verify(job.output->temporary(), end, stop, report));
  // The final name only ever holds what passed.
  if (to_file && report.violations.empty()) GOPMILL_RETURN_IF_ERROR(job.output->Publish());
  return report;
}

Result<std::string> ExplainFileJson(const std::string& input, const TargetRequest& request,
                                    const SchedulerOptions& scheduler) {
  GOPMILL_ASSIGN_OR_RETURN(UniqueFd fd, OpenInput(input, {}));
  GOPMILL_ASSIGN_OR_RETURN(const auto engine, Engine::Create({.scheduler = scheduler}));
  GOPMILL_RETURN_IF_ERROR(engine->scheduler().ClassOf(request.service_class.value_or("")));
  const ExplainContext context{
      .workers = engine->scheduler().worker_count(),
      .home_worker = engine->HomeWorker(StreamId{1}),
      .policy = scheduler.policy,
      .decode_ahead_bytes = static_cast<double>(SessionLimits{}.decode_ahead_bytes),
      .text_files = TextFilesBeside(input).size(),
      .readable_again = ReadableAgain(input)};
  return ExplainJson(std::move(fd), request, context, {});
}

}  // namespace gopmill
