// SPDX-License-Identifier: Apache-2.0
//
// The analysis pass of quality=best: the whole movie is encoded once at one CRF and thrown away,
// and what each unit took decides what it gets (media/bit_spread.h). The pass is a stream of its
// own for the same workers: the same cuts, no sound, no container that anybody reads.
//
// H.264 is measured by the target's own settings, so that the pass is not lost: the search of each
// unit goes on from it. Other codecs are measured by x264 veryfast: what is hard for it is hard for
// them.
//
// Guarantee: depends on the source and the target alone, not on workers or scheduler.
// Thread-safety: safe; blocks the calling thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>

#include "base/status.h"
#include "media/bit_spread.h"
#include "media/plan.h"
#include "scheduler/scheduler.h"
#include "server/stream/stream_session.h"

namespace gopmill {

// Whether such a stream is analysed, if its source can be read twice.
bool WantsAnalysis(const Target& target);

struct AnalysisOrder {
  StreamId id;  // of the stream that it is for, which has no jobs of its own yet
  std::uint64_t number = 0;
  std::string source_name;
  SourceOpener open;  // may be called twice
  TextReader read_texts;
  TargetRequest request;
  SessionLimits limits;
  std::function<void(const AnalysisProgress&)> on_progress;  // a few times a second
};
// Blocks the calling thread until the movie is measured or `stop`; kCancelled then.
Result<UnitBudgets> AnalyseMovie(const AnalysisOrder& order, const StreamPlan& plan,
                                 Scheduler& scheduler, const std::stop_token& stop);

}  // namespace gopmill
