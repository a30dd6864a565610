// SPDX-License-Identifier: Apache-2.0
//
// JSON forms of plans, targets, sources and errors, shared by HTTP and the command line.
// For .cc files of the server only. Thread-safety: safe (pure functions).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/adjustment.h"
#include "base/status.h"
#include "codec/context_cache.h"
#include "media/plan.h"
#include "scheduler/scheduler.h"
#include "server/stream/stream_stats.h"

namespace gopmill {

nlohmann::ordered_json ErrorJson(const Error& error);
// "25" or "30000/1001".
std::string FractionText(Rational value);
nlohmann::ordered_json TargetJson(const Target& target);
nlohmann::ordered_json AdjustmentsJson(const std::vector<Adjustment>& adjustments);
nlohmann::ordered_json SourceJson(const SourceInfo& source);
nlohmann::ordered_json SubtitlesJson(const SubtitleTrack& track);
nlohmann::ordered_json StreamJson(const StreamSnapshot& snapshot);
nlohmann::ordered_json SchedulerJson(const SchedulerStats& stats);
nlohmann::ordered_json CacheJson(const CacheStats& stats);

}  // namespace gopmill
