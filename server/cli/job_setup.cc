// SPDX-License-Identifier: Apache-2.0
#include "server/cli/job_setup.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <span>
#include <utility>
#include <vector>

#include "base/log.h"
#include "config/ratio_file.h"
#include "scheduler/policy_registry.h"
#include "scheduler/topology_hwloc.h"
#include "server/cli/exit_codes.h"
#include "server/cli/text_output.h"
#include "server/cli/usage_hints.h"

namespace gopmill::cli {
namespace {

void WarnOfSharedPus(int workers) {
  if (workers == 0) return;
  const auto topology = DiscoverTopology({});
  if (!topology.ok() || workers <= topology->pu_count()) return;
  WriteStderr(fmt::format("warning: {} workers share {} CPUs\n", workers, topology->pu_count()));
}

}  // namespace

Result<SchedulerOptions> PrepareJob(const JobArgs& args) {
  GOPMILL_RETURN_IF_ERROR(InitLogging(args.log_level, LogFormat::kText));
  GOPMILL_RETURN_IF_ERROR(CheckPolicyName("scheduler", args.scheduler));
  WarnOfSharedPus(args.workers);
  SchedulerOptions options;
  options.policy = args.scheduler;
  options.workers = args.workers;
  GOPMILL_ASSIGN_OR_RETURN(options.rules, WithRatioFiles(args.scheduler_options));
  GOPMILL_RETURN_IF_ERROR(CheckOptionsAreRead(options.rules, std::span(&args.scheduler, 1)));
  options.classes = args.classes;
  return options;
}

Status CheckJobReport(const JobArgs& args, const std::string& output) {
  const ReportFile report{"json", args.json};
  return CheckReports({&report, 1}, {args.input, output});
}

bool IgnoresHangUp() {
  struct sigaction hangup {};
  return sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler == SIG_IGN;
}

Result<std::unique_ptr<SignalWatcher>> StopOnSignals(const std::stop_source& stop,
                                                     std::function<void()> last) {
  std::vector<int> signals{SIGINT, SIGTERM};
  if (!IgnoresHangUp()) signals.push_back(SIGHUP);
  const auto on_signal = [stop, last = std::move(last),
                          patience = Impatience()](int /*signal*/) mutable {
    if (patience.OnRequest(SteadyNow())) {
      last();
      _exit(kInterrupted);
    }
    stop.request_stop();
  };
  return SignalWatcher::Start(signals, on_signal);
}

ProgressStyle StyleFor(bool quiet) {
  if (quiet) return ProgressStyle::kQuiet;
  return isatty(STDERR_FILENO) != 0 ? ProgressStyle::kBar : ProgressStyle::kPlain;
}

int Fail(std::string_view command, const JobArgs& args, const Error& given) {
  Error error = given;
  // A folder may be named like that, so only what is not there.
  const auto url = UrlHint(command, args.input);
  if (url && error.code == Code::kNotFound) error.message += " " + *url + ".";
  // Errors of the media do not say which file they are about.
  const bool of_media = error.code == Code::kCorrupt || error.code == Code::kUnsupported;
  PrintError(command, of_media && error.parameter.empty() ? args.input : "", error);
  if (!args.json.empty() && error.parameter != "json") {
    const Status written = WriteReport(args.json, FailureJson(error));
    if (!written.ok()) PrintError(command, "", written.error());
  }
  return ExitCodeOf(error);
}

void WarnOfDamage(bool truncated, const PictureDamage& damage, std::int64_t left_out) {
  if (truncated) WriteStderr("warning: the source ends early or is damaged at its end\n");
  if (damage.concealed > 0) {
    WriteStderr(fmt::format("warning: {} damaged frames were made up\n", damage.concealed));
  }
  if (damage.patched > 0) {
    WriteStderr(fmt::format("warning: parts of {} frames were made up\n", damage.patched));
  }
  if (damage.rejected > 0) {
    WriteStderr(
        fmt::format("warning: {} packets of pictures could not be decoded\n", damage.rejected));
  }
  if (left_out > 0) {
    WriteStderr(
        fmt::format("warning: {} frames are left out: in front of the first that can be decoded, "
                    "or to be shown "
                    "before it\n",
                    left_out));
  }
}

void WarnOfVbv(std::int64_t units) {
  if (units == 0) return;
  WriteStderr(fmt::format(
      "warning: {} units take more than maxrate and bufsize allow; a larger bufsize may help\n",
      units));
}

void PrintAdjustments(const std::vector<Adjustment>& adjustments) {
  for (const Adjustment& each : adjustments) {
    WriteStderr(fmt::format("note: {} is {} instead of {} ({})\n", each.parameter, each.given,
                            each.asked, each.reason));
  }
}

}  // namespace gopmill::cli
