// SPDX-License-Identifier: Apache-2.0
//
// One run: streams through a fresh engine in this process, as the server runs them, with sinks that
// hash and count.
//
// Thread-safety: one run at a time per process (usage is the process's).
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/status.h"
#include "server/bench/run_record.h"
#include "server/bench/workload.h"

namespace gopmill::bench {

struct StreamRunOptions {
  std::string policy;
  int workers = 0;              // 0 = one per CPU
  int run_queue_units = 2;      // 0 = without bound
  std::string unit = "gop";     // or seconds
  std::string duration = "20";  // seconds of each movie
  std::string preset = "veryfast";
  std::string crf;  // in place of the streams' bit rates; empty = those
  bool audio = false;
  std::string rules;  // forms of the policies' rules (policy_options_text.h); empty = corrected
  std::vector<ServiceClass> classes;       // streams get them in turn; empty = no classes
  std::shared_ptr<UnitObserver> recorder;  // hears of all units too; may be null
};

// kCancelled when `stop` was asked for; the first stream's error when one fails.
Result<RunRecord> RunStreams(const StreamRunOptions& options,
                             const std::vector<BenchStream>& streams, const std::stop_token& stop);

// The request that the stream of this number (from 0) makes; wrong options are found here.
Result<TargetRequest> RequestOf(const BenchStream& stream, std::uint64_t number,
                                const StreamRunOptions& options);

}  // namespace gopmill::bench
