// SPDX-License-Identifier: Apache-2.0
//
// What transcode, package and explain do alike.
//
// Thread-safety: call from main before any thread has been started.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string_view>
#include <vector>

#include "base/adjustment.h"
#include "base/status.h"
#include "codec/picture_damage.h"
#include "scheduler/scheduler.h"
#include "server/cli/command_line.h"
#include "server/cli/progress.h"
#include "server/cli/signals.h"

namespace gopmill::cli {

// Starts the log and checks the policy's name; warns when workers have to share PUs.
Result<SchedulerOptions> PrepareJob(const JobArgs& args);

// Whether the report of a job can be written, and is neither what it reads nor what it writes. To
// be asked first of all: any other error is written to the report.
Status CheckJobReport(const JobArgs& args, const std::string& output);

// The first signal asks `stop`, so that the job ends in order; a second one ends the process at
// once, after `last` was called on the watcher's thread while the job still runs.
Result<std::unique_ptr<SignalWatcher>> StopOnSignals(
    const std::stop_source& stop, std::function<void()> last = [] {});

// Whether the end of the terminal is meant to be survived, as nohup has it.
bool IgnoresHangUp();

ProgressStyle StyleFor(bool quiet);

// Prints the error, writes it as the report if one was asked for, and returns the exit code.
int Fail(std::string_view command, const JobArgs& args, const Error& error);

// What of the source could not be shown, a line for each kind.
void WarnOfDamage(bool truncated, const PictureDamage& damage, std::int64_t left_out);

// Units that broke the declared maxrate and bufsize after all passes; 0 = says nothing.
void WarnOfVbv(std::int64_t units);

// "note: height is 360 instead of 480 (reason)", one line each.
void PrintAdjustments(const std::vector<Adjustment>& adjustments);

}  // namespace gopmill::cli
