// SPDX-License-Identifier: Apache-2.0
//
// A movie as a folder of files that any web server can hand out: what /v1/hls and /v1/dash answer,
// all of it, made on all workers. Segments are the very bytes of those answers; playlists differ in
// their names only, which have no queries. All renditions of a segment are made by one decode.
//
// Thread-safety: call from one thread; once per process (Engine).
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "base/status.h"
#include "codec/picture_damage.h"
#include "scheduler/scheduler.h"
#include "server/api/service.h"
#include "server/offline/transcode_file.h"

namespace gopmill {

struct PackageJob {
  std::string input;     // a file; read from any place, so no pipe
  std::string folder;    // new or empty
  RequestParams params;  // as of /v1/hls, without version
  SchedulerOptions scheduler;
};

struct PackagedRendition {
  std::string playlist;
  int width = 0, height = 0;
  std::int64_t asked_bps = 0, mean_bps = 0, peak_bps = 0;
};

struct PackageReport {
  std::string json;  // the whole report as JSON text, see docs/API.md
  std::int64_t frames = 0, files = 0, bytes = 0;
  PictureDamage damage;                       // frames in each rendition
  bool truncated = false;                     // the source ends early or is damaged at its end
  std::int64_t frames_left_out = 0;           // SourceIndex::left_out
  std::vector<PackagedRendition> renditions;  // of pictures
  std::size_t sounds_left_out = 0;  // tracks that cannot be played, or beyond kMaxOtherSounds
  double elapsed_seconds = 0, out_seconds = 0;
};

// Errors leave no folder; kCancelled when `stop` was asked for. `progress` as of TranscodeFile,
// frames are those of the movie, once for all renditions; sound and thumbnails count as some.
Result<PackageReport> PackageMovie(const PackageJob& job, const std::stop_token& stop,
                                   const ProgressCallback& progress);

}  // namespace gopmill
