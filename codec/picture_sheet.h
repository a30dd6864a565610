// SPDX-License-Identifier: Apache-2.0
//
// Small pictures of a source side by side in one JPEG: what players show while somebody looks for a
// place in a movie. Pictures are decoded from the nearest place of random access before them,
// scaled, and painted into their tiles; the sheet is converted to what JPEG means by its numbers
// (full range, BT.601) and encoded once.
//
// Guarantee: the same task gives the same bytes, whatever the worker has warm.
// Thread-safety: thread-compatible; all state is in the arguments.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/status.h"
#include "codec/context_cache.h"
#include "media/ingest.h"
#include "media/plan.h"

namespace gopmill {

// Pictures that are reached from one place of random access: decoded once, in one go.
struct SheetRun {
  std::shared_ptr<const UnitInput> input;
  std::int64_t entry_frame = 0;      // the first that can be shown: where decoding begins
  std::vector<std::int64_t> frames;  // output frames, ascending; two may be the same
};

struct SheetTask {
  std::shared_ptr<const StreamPlan> plan;  // its target has the size of one tile, even numbers
  // Their pictures fill the sheet row by row. What is left over stays black.
  std::vector<SheetRun> runs;
  int columns = 1, rows = 1;
};

// The bytes of the JPEG. kCancelled when `stop` was asked for, at the latest after a few pictures.
Result<std::string> MakeSheet(const SheetTask& task, ContextCache& cache,
                              const std::stop_token& stop);

}  // namespace gopmill
