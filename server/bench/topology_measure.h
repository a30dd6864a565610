// SPDX-License-Identifier: Apache-2.0
//
// gopmill topology --measure: what it costs to do a stream's work away from its home, measured by
// moving real GOPs between real cores.
//
// One sample of a pair of cores is four runs of one GOP. Before each of them both cores work, at
// the same time, on the GOP before it: the home on the stream itself, the other core on a stream of
// its own, so that neither core has slept and each holds what a busy worker holds. Then the GOP
// runs
//   at home, with the contexts (decoder, scaler) that ran the GOP before it;
//   on the other core, with these same objects handed over;
//   on the other core, with contexts that it has to open;
//   at home again.
// Encoders are opened for every unit, as in the server. The order of the four changes from repeat
// to repeat, home and other core change places, and all pairs take turns, so that disturbances meet
// all alike. Threads are pinned; a core that refuses to be pinned to is an error.
//
// Thread-safety: one measurement of a machine at a time; blocks the calling thread.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/status.h"
#include "scheduler/topology.h"
#include "server/bench/level_ratios.h"

namespace gopmill::bench {

inline constexpr int kMaxMoveRepeats = 1000;
inline constexpr const char* kMoveMovie = "movies/files/ref-street.mpg";

struct MoveOptions {
  std::string movie = kMoveMovie;
  int repeats = 20;
};

struct MoveResult {
  std::string movie, target;  // file name; "352x288 at 26 frames/s, 100 kb/s"
  int repeats = 0, gops = 0;  // gops: different ones that were moved
  std::vector<PairSamples> pairs;
  std::vector<NodeKind> not_measured;  // levels that no two of the PUs share at closest
};

// Blocks the calling thread, which must not be a worker. `progress` is told the repeats done.
// kInvalidArgument naming "movie" when the movie cannot serve, kUnsupported when there is one PU
// only or a thread cannot be pinned, kCancelled after `stop`.
Result<MoveResult> MeasureMoves(const Topology& topology, const MoveOptions& options,
                                const std::stop_token& stop,
                                const std::function<void(int)>& progress = {});

// Table, what could not be measured, and the option to give to a server.
std::string MoveText(const MoveResult& result);
std::string MoveJson(const MoveResult& result);

}  // namespace gopmill::bench
