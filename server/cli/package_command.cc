// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <stop_token>

#include "server/cli/commands.h"
#include "server/cli/exit_codes.h"
#include "server/cli/job_setup.h"
#include "server/cli/text_output.h"
#include "server/offline/package_movie.h"

namespace gopmill::cli {
namespace {

void Warn(const PackageReport& report) {
  WarnOfDamage(report.truncated, report.damage, report.frames_left_out);
  if (report.sounds_left_out == 0) return;
  const bool one = report.sounds_left_out == 1;
  WriteStderr(fmt::format("warning: {} sound track{} left out\n", report.sounds_left_out,
                          one ? " is" : "s are"));
}

int Finish(const PackageArgs& args, const PackageReport& report) {
  Warn(report);
  if (!args.quiet) {
    for (const PackagedRendition& each : report.renditions) {
      WriteStderr(fmt::format("{}: {}x{}, {} kb/s, at most {} kb/s\n", each.playlist, each.width,
                              each.height, each.mean_bps / 1000, each.peak_bps / 1000));
    }
    WriteStderr(fmt::format("{}: {}, {} files, {}, in {:.1f} s ({:.2f}x)\n", args.output,
                            ClockText(report.out_seconds), report.files, BytesText(report.bytes),
                            report.elapsed_seconds, report.out_seconds / report.elapsed_seconds));
  }
  if (args.json.empty()) return kOk;
  const Status written = WriteReport(args.json, report.json);
  if (written.ok()) return kOk;
  PrintError("package", "", written.error());
  return kFailed;
}

Status CheckReport(const PackageArgs& args) {
  GOPMILL_RETURN_IF_ERROR(CheckJobReport(args, args.output));
  return CheckOutside({"json", args.json}, args.output);
}

}  // namespace

int RunPackage(const PackageArgs& args) {
  const Status report_file = CheckReport(args);
  if (!report_file.ok()) return Fail("package", args, report_file.error());
  const std::stop_source stop;
  const auto signals = StopOnSignals(stop);
  if (!signals.ok()) return Fail("package", args, signals.error());
  const auto scheduler = PrepareJob(args);
  if (!scheduler.ok()) return Fail("package", args, scheduler.error());
  const PackageJob job{
      .input = args.input, .folder = args.output, .params = args.params, .scheduler = *scheduler};
  ProgressPrinter printer(StyleFor(args.quiet), WriteStderr, TerminalColumns);
  const auto report = PackageMovie(job, stop.get_token(), [&printer](const Progress& progress) {
    printer.Update(progress, SteadyNow());
  });
  printer.Clear();
  if (report.ok()) return Finish(args, *report);
  if (!stop.stop_requested()) return Fail("package", args, report.error());
  return Fail("package", args,
              {.code = Code::kCancelled, .message = "Interrupted; nothing is left."});
}

}  // namespace gopmill::cli
