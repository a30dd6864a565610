// SPDX-License-Identifier: Apache-2.0
//
// The ingest thread of a stream: opens the source, makes the plan, cuts units, transcodes the
// sound, and posts it all to the mailbox, no faster than the window allows. Blocking reads happen
// only here.
//
// Thread-safety: RunIngest is the stream's ingest thread; what it shares is the mailbox.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "base/status.h"
#include "media/ingest.h"
#include "server/stream/mailbox.h"

namespace gopmill {

// Opens a source that need not be a file; called once, on the ingest thread. May wait until `stop`.
using PacketSourceOpener =
    std::function<Result<std::unique_ptr<PacketSource>>(const std::stop_token& stop)>;

// Reads what the request wants of the movie's text; called once, on the ingest thread.
using TextReader =
    std::function<Result<PlanTexts>(const TargetRequest& request, const std::stop_token& stop)>;

// Measures the movie before its first unit is cut; called at most once, on the ingest thread.
using MovieAnalyser =
    std::function<Result<UnitBudgets>(const StreamPlan& plan, const std::stop_token& stop)>;

// How fast a source is taken in.
enum class IngestPace {
  kAsFastAsPossible,
  kRealTime,  // as a live source gives it: a unit is there once its last picture would have been
              // shown
};

// What a unit takes while it is in the window: the memory of its packets, of what is expected of
// its encoder, and of `sound`, the coded bytes that were posted since the unit before: they wait
// until its pictures are made. Pieces of GOPs count by their length, as parts of a live source's
// usual unit.
WindowShare WindowRoom(const UnitInput& unit, const StreamPlan& plan, std::size_t sound);

struct IngestOrder {
  PacketSourceOpener open;
  TextReader read_texts;  // empty: the source has none that could be used
  MovieAnalyser analyse;  // empty: units get their bits by the source's bytes
  TargetRequest request;
  IngestPace pace = IngestPace::kAsFastAsPossible;
};

// Runs until the source has ended, failed, or the mailbox is closed. Always ends with IngestEnded
// or Failed in the mailbox.
void RunIngest(const IngestOrder& order, const std::stop_token& stop, Mailbox& mailbox);

}  // namespace gopmill
