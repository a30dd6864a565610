// SPDX-License-Identifier: Apache-2.0
//
// The plan of a transcode without doing it: reads the whole source once, runs the very planner that
// a transcode would run, and prints units, budgets and what to expect. The units are exact, and all
// are counted, but no more than the first kMaxListedUnits are listed; core-seconds, memory and
// first byte are estimates and labelled so.
//
// Thread-safety: safe; blocks while it reads.
#pragma once

#include <cstddef>
#include <stop_token>
#include <string>

#include "base/status.h"
#include "media/source.h"
#include "media/target.h"

namespace gopmill {

// A unit takes about a kilobyte, and a source may have millions of them.
inline constexpr std::size_t kMaxListedUnits = 10'000;

struct ExplainContext {
  int workers = 1;
  int home_worker = -1;  // where the policy sends the next stream on an idle machine
  std::string policy;
  double decode_ahead_bytes = 0;  // per running unit
  std::size_t text_files = 0;     // of subtitles beside the movie
  bool readable_again = true;     // not a pipe: quality=best can measure it first
};

// JSON text, documented in docs/API.md.
Result<std::string> ExplainJson(UniqueFd source, const TargetRequest& request,
                                const ExplainContext& context, std::stop_token stop);

}  // namespace gopmill
