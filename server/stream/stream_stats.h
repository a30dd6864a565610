// SPDX-License-Identifier: Apache-2.0
//
// What is measured of one stream, as one plain value. The same numbers feed /v1/streams, the
// trailers, the metrics, the command line's report and the benchmarks.
//
// Thread-safety: compatible (plain value; the session guards its own copy).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/adjustment.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/order_stats.h"
#include "base/status.h"
#include "codec/effort.h"
#include "codec/picture_damage.h"
#include "codec/unit_transcoder.h"
#include "media/plan.h"
#include "scheduler/job.h"
#include "server/stream/seam_ledger.h"
#include "server/stream/unit_log.h"

namespace gopmill {

enum class StreamState {
  kOpening,    // the source is being opened and probed
  kAnalysing,  // the movie is measured for quality=best
  kRunning,
  kDone,       // delivered whole
  kFailed,     // ended early with `error`
  kCancelled,  // the client left, or somebody stopped it
};
std::string_view Name(StreamState state);

// Sums over the units of a stream, the life of a GOP stage by stage.
struct StageTimes {
  Duration rate_wait{};    // read, until its rate can be told (RateGate) and it is its turn
  Duration global_wait{};  // submitted -> put into a run queue
  Duration run_wait{};     // in the run queue
  Duration schedule{};     // inside the policy
  Duration decode{}, filter{}, encode{};
  Duration reorder_wait{};  // finished -> released in order
  Duration mux_send{};      // muxer and sink, backpressure included
  Duration cpu{};           // CPU time in this stream's jobs, without analysis; also that of
                            // threads that encoders have of their own
  Duration analysis{};      // CPU time of workers in measuring the movie
};

// What one of several readers of a stream got of it.
struct ReaderSnapshot {
  StreamId id;
  std::int64_t frames_out = 0, bytes_out = 0;  // bytes of its container
  std::int64_t dropped_gops = 0;               // it did not take them in time
};

struct StreamSnapshot {
  StreamId id;
  std::string source;  // as the client named it
  StreamState state = StreamState::kOpening;
  std::optional<Error> error;
  std::vector<Adjustment> adjustments;
  std::shared_ptr<const StreamPlan> plan;  // null while opening

  std::int64_t units_planned = 0, units_done = 0;
  std::int64_t frames_planned = 0;  // so far; the total once the source has been read
  bool all_planned = false;
  std::int64_t frames_analysed = 0;  // measured, of quality=best
  std::int64_t frames_out = 0;       // muxed
  std::int64_t bytes_out = 0;        // container bytes; coded bytes of a shared encode
  std::int64_t video_bytes = 0;      // coded video payload
  std::int64_t source_bytes = 0;     // compressed video taken in
  SelectionCounts selection;
  std::int64_t decoded_elsewhere = 0;  // units that another rendition of the source has decoded
  std::int64_t decoded_again = 0;      // UnitStats
  PictureDamage damage;
  std::int64_t audio_damaged = 0, repaired_timestamps = 0;
  std::int64_t frames_left_out = 0;  // EndOfSource::left_out
  double sound_filled_seconds = 0;   // silence where the source had no sound
  std::int64_t format_changes = 0;   // of a live source that went on as something else
  bool truncated = false;
  std::int64_t retries = 0, rate_corrections = 0, vbv_violations = 0;
  Effort effort = Effort::kFull;                         // of new units
  std::array<std::int64_t, kEfforts> units_by_effort{};  // done
  std::int64_t away_from_home = 0;    // units that did not run on the stream's home worker
  std::size_t window_peak_bytes = 0;  // coded bytes that waited in the reorderer
  SeamTotals seams;
  std::shared_ptr<SeamLog> seam_log = std::make_shared<SeamLog>();  // the joins one by one
  std::shared_ptr<const UnitLog> unit_log;                          // the units one by one
  OrderStats order;
  StageTimes stages;
  Duration opening{};                  // open and probe
  std::optional<Duration> first_byte;  // since the request
  Duration elapsed{};                  // since the request
  TimePoint began{};                   // the request
  // What it was when the present pass over the movie began: measuring it, once more, or the rest.
  Duration pass_began{};
  std::optional<std::vector<ReaderSnapshot>> readers;  // that are there now, of a shared encode

  // A unit's job has ended, well or not.
  void AddUnit(const JobReport& report, const UnitStats& unit, Effort unit_effort);

  [[nodiscard]] double out_seconds() const;         // muxed video
  [[nodiscard]] double total_seconds() const;       // of the whole output; 0 = unknown
  [[nodiscard]] std::int64_t frames_total() const;  // expected; 0 = unknown
};

// The measures that go out as trailers.
std::map<std::string, std::string> Measures(const StreamSnapshot& snapshot);
// One JSON object.
std::string ToJson(const StreamSnapshot& snapshot);

}  // namespace gopmill
