// SPDX-License-Identifier: Apache-2.0
//
// The command line's way into the engine: one source to one output, on all workers.
//
// Guarantee for files: the final name only ever holds a whole, playable file (OutputFile).
// Thread-safety: safe; blocks the calling thread, and calls back on it.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/adjustment.h"
#include "base/status.h"
#include "codec/picture_damage.h"
#include "media/target.h"
#include "scheduler/scheduler.h"
#include "server/files/output_file.h"

namespace gopmill {

struct TranscodeJob {
  std::string input;             // path or "-" for stdin
  OutputFile* output = nullptr;  // none = stdout
  TargetRequest request;
  SchedulerOptions scheduler;
  bool verify = false;  // decode the result and compare it with the plan; files only
};

struct Progress {
  bool analysing = false;  // the movie is measured: frames are those measured so far
  std::int64_t frames_done = 0, frames_total = 0;  // total 0 = unknown
  double out_seconds = 0, total_seconds = 0;       // total 0 = unknown
  double fps = 0, speed = 0, eta_seconds = 0;      // eta 0 = unknown
  std::int64_t bytes = 0;

  // What follows from these and the time that has passed: fps, speed and when it ends.
  void AddRates(double elapsed_seconds);
};

struct TranscodeReport {
  std::string json;  // the whole report as JSON text, see docs/API.md
  std::vector<Adjustment> adjustments;
  std::int64_t frames = 0, bytes = 0;
  double elapsed_seconds = 0, out_seconds = 0, speed = 0, fps = 0;
  double video_bps = 0;  // achieved mean, bits per second
  double out_of_order_rate = 0, jitter_ms = 0;
  bool truncated = false;  // the source ended early or was damaged at its end
  PictureDamage damage;
  std::int64_t frames_left_out = 0;     // EndOfSource::left_out
  std::int64_t vbv_violations = 0;      // units
  std::string certificate;              // of --verify: the joins in one line
  std::vector<std::string> joins;       // and the newest of them in a table
  std::vector<std::string> violations;  // of --verify; empty = none
};

// Called from the calling thread about ten times a second and once at the end.
using ProgressCallback = std::function<void(const Progress&)>;

Result<TranscodeReport> TranscodeFile(const TranscodeJob& job, const std::stop_token& stop,
                                      const ProgressCallback& progress);

// The plan of a transcode without doing it, as JSON text: source, target, units with their output
// frames, source bytes, bit rates and home workers, and the costs to expect.
Result<std::string> ExplainFileJson(const std::string& input, const TargetRequest& request,
                                    const SchedulerOptions& scheduler);

}  // namespace gopmill
