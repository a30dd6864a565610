// SPDX-License-Identifier: Apache-2.0
//
// Makes the segments and sheets of a presentation, all of them, and writes each to a folder as soon
// as it is there. The calling thread reads and writes, workers of the engine do the rest.
//
// At most kMaxPiecesAhead pieces for each worker are read or wait to be written at a time.
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/thread_safety.h"
#include "scheduler/scheduler.h"
#include "server/session/movie_shelf.h"
#include "server/session/package_folder.h"
#include "server/session/segment_work.h"

namespace gopmill {

inline constexpr int kMaxPiecesAhead = 3;

// The movie, or one of its other sound tracks.
struct Presentation {
  Shelved shelved;
  std::shared_ptr<const SegmentedMovie> movie;  // with the names of files
  std::string folder;                           // in front of them
};

// Of one rendition of pictures.
struct TrackSizes {
  std::int64_t bytes = 0;
  double peak_bps = 0;  // of a segment
};

class Packager {
 public:
  // All are borrowed for its life. The first presentation is the movie's own.
  Packager(const std::vector<Presentation>& presentations, MovieShelf& shelf, Scheduler& scheduler,
           std::uint16_t service_class, PackageFolder& folder);
  // Waits for the workers.
  ~Packager();
  Packager(const Packager&) = delete;
  Packager& operator=(const Packager&) = delete;

  using Told = std::function<void(std::int64_t frames, std::int64_t bytes)>;
  // The first error ends it. kCancelled when `stop` was asked for. `told` after each piece.
  Status Run(const std::stop_token& stop, const Told& told);
  [[nodiscard]] const std::vector<TrackSizes>& sizes() const { return sizes_; }

 private:
  struct Piece {  // what one job makes
    const Presentation* presentation = nullptr;
    PartName name;
    bool ladder = false;  // this segment of all renditions
  };
  struct Finished {
    Piece piece;
    Result<std::vector<std::string>> made;
  };
  void Plan(const Presentation& presentation, PartTrack track, std::int64_t count);
  Status Submit(const Piece& piece);
  Result<std::vector<SegmentWork>> Read(const Piece& piece);
  Finished Take();
  Status Keep(const Finished& finished);

  MovieShelf& shelf_;
  Scheduler& scheduler_;
  const std::uint16_t service_class_;
  PackageFolder& folder_;
  std::deque<Piece> pieces_;
  std::vector<TrackSizes> sizes_;  // of the renditions
  std::int64_t frames_ = 0, next_unit_ = 0;
  int out_ = 0;  // submitted and not taken
  std::stop_source cancel_;

  Mutex mutex_;
  CondVar changed_;
  std::deque<Finished> finished_ GOPMILL_GUARDED_BY(mutex_);
};

}  // namespace gopmill
