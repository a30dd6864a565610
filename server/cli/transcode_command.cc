// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "server/cli/commands.h"
#include "server/cli/exit_codes.h"
#include "server/cli/job_setup.h"
#include "server/cli/text_output.h"
#include "server/cli/usage_hints.h"
#include "server/offline/transcode_file.h"

namespace gopmill::cli {
namespace {

namespace fs = std::filesystem;

// What the engine cannot know or would blame on the source: stdout is a terminal, no such folder.
Status CheckOutput(const TranscodeArgs& args) {
  if (args.output == "-") {
    if (args.verify) {
      return InvalidArgument("verify", "--verify needs an output file.", "a file as OUT");
    }
    if (isatty(STDOUT_FILENO) == 0 || args.force) return OkStatus();
    return InvalidArgument("OUT", "Movies are not written to a terminal.",
                           "a file, or a pipe behind -");
  }
  const fs::path folder = fs::path(args.output).parent_path();
  std::error_code ignored;
  if (folder.empty() || fs::is_directory(folder, ignored)) return OkStatus();
  return InvalidArgument("OUT", "The folder of the output does not exist.",
                         "a file in an existing folder");
}

std::string Summary(const TranscodeArgs& args, const TranscodeReport& report) {
  return fmt::format("{}: {} frames, {} in {:.1f} s ({:.1f} fps, {:.2f}x), {}, {:.0f} kb/s video\n",
                     args.output == "-" ? "done" : args.output, report.frames,
                     ClockText(report.out_seconds), report.elapsed_seconds, report.fps,
                     report.speed, BytesText(report.bytes), report.video_bps / 1000);
}

// Of a long movie the table would hide the rest.
void PrintSeams(const TranscodeReport& report) {
  constexpr std::size_t kMostLines = 61;
  WriteStderr("seams: " + report.certificate + "\n");
  if (report.joins.size() > kMostLines) {
    return WriteStderr("seams: --json FILE has each join, up to 4,096\n");
  }
  if (report.joins.size() < 2) return;
  for (const std::string& line : report.joins) WriteStderr(line + "\n");
}

int Finish(const TranscodeArgs& args, const TranscodeReport& report) {
  if (!args.quiet) PrintAdjustments(report.adjustments);
  // Also when quiet: the result is there, and is not what the source's name promises.
  WarnOfDamage(report.truncated, report.damage, report.frames_left_out);
  WarnOfVbv(report.vbv_violations);
  if (!args.quiet) {
    if (report.violations.empty()) WriteStderr(Summary(args, report));
    if (!report.certificate.empty()) PrintSeams(report);
  }
  for (const std::string& each : report.violations) WriteStderr("verify: " + each + "\n");
  if (!report.violations.empty()) {
    WriteStderr("verify: the result is not what the plan says; " + args.output +
                " was not written\n");
  }
  const int code = report.violations.empty() ? kOk : kFailed;
  if (args.json.empty()) return code;
  const Status written = WriteReport(args.json, report.json);
  if (written.ok()) return code;
  PrintError("transcode", "", written.error());
  return kFailed;
}

int Transcode(const TranscodeArgs& args, OutputFile* output, const SchedulerOptions& scheduler,
              const std::stop_token& stop) {
  const TranscodeJob job{.input = args.input,
                         .output = output,
                         .request = args.request,
                         .scheduler = scheduler,
                         .verify = args.verify};
  ProgressPrinter printer(StyleFor(args.quiet), WriteStderr, TerminalColumns);
  const auto report = TranscodeFile(
      job, stop, [&printer](const Progress& progress) { printer.Update(progress, SteadyNow()); });
  printer.Clear();
  if (report.ok()) return Finish(args, *report);
  if (!stop.stop_requested()) {
    return Fail("transcode", args, WithFullDisk(report.error(), args.output));
  }
  return Fail("transcode", args,
              {.code = Code::kCancelled,
               .message = output != nullptr ? "Interrupted; no output is left." : "Interrupted."});
}

}  // namespace

int RunTranscode(const TranscodeArgs& args) {
  const Status report_file = CheckJobReport(args, args.output);
  if (!report_file.ok()) return Fail("transcode", args, report_file.error());
  const Status checked = CheckOutput(args);
  if (!checked.ok()) return Fail("transcode", args, checked.error());
  std::optional<OutputFile> output;
  if (args.output != "-") {
    auto chosen = OutputFile::Choose(args.output, args.force);
    if (!chosen.ok()) return Fail("transcode", args, chosen.error());
    output.emplace(std::move(chosen).value());
  }
  std::stop_source stop;
  auto signals = StopOnSignals(
      stop, [temporary = output ? output->temporary() : ""] { unlink(temporary.c_str()); });
  if (!signals.ok()) return Fail("transcode", args, signals.error());
  const auto scheduler = PrepareJob(args);
  if (!scheduler.ok()) return Fail("transcode", args, scheduler.error());
  return Transcode(args, output ? &*output : nullptr, *scheduler, stop.get_token());
}

}  // namespace gopmill::cli
