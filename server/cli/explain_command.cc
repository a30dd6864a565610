// SPDX-License-Identifier: Apache-2.0
#include "server/cli/commands.h"
#include "server/cli/exit_codes.h"
#include "server/cli/job_setup.h"
#include "server/cli/text_output.h"
#include "server/offline/transcode_file.h"

namespace gopmill::cli {

int RunExplain(const ExplainArgs& args) {
  const Status report_file = CheckJobReport(args, "");
  if (!report_file.ok()) return Fail("explain", args, report_file.error());
  const auto scheduler = PrepareJob(args);
  if (!scheduler.ok()) return Fail("explain", args, scheduler.error());
  const auto plan = ExplainFileJson(args.input, args.request, *scheduler);
  if (!plan.ok()) return Fail("explain", args, plan.error());
  const Status written =
      args.json.empty() ? WriteStdout(ReadableJson(*plan)) : WriteReport(args.json, *plan);
  if (written.ok()) return kOk;
  PrintError("explain", "", written.error());
  return kFailed;
}

}  // namespace gopmill::cli
