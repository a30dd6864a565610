// SPDX-License-Identifier: Apache-2.0
//
// Makes the segments and sheets of a presentation, all of them, and writes each to a folder as soon
// as it is there. The calling thread reads and writes, workers of the engine do the rest.
//
// At most kMaxPiecesAhead pieces for each worker are read or wait to be written at a time, and no
// more while their packets take kMaxPieceBytes. What is made of them is smaller in all but odd
// cases. Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/thread_safety.h"
#include "codec/picture_damage.h"
#include "scheduler/scheduler.h"
#include "server/files/package_folder.h"
#include "server/offline/piece_order.h"
#include "server/segments/movie_shelf.h"
#include "server/segments/run_shelf.h"
#include "server/segments/segment_job.h"
#include "server/segments/segment_work.h"
#include "server/stream/track_sizes.h"

namespace gopmill {

inline constexpr int kMaxPiecesAhead = 3;
// Of the decoders that wait for the next piece, for each worker: four of 1080p with 8 bits.
inline constexpr std::size_t kMaxPackageRunBytes = std::size_t{128} << 20U;
inline constexpr std::int64_t kMaxPieceBytes = std::int64_t{512} << 20U;  // beside one more piece

// The movie, or one of its other sound tracks.
struct Presentation {
  Shelved shelved;
  std::shared_ptr<const SegmentedMovie> movie;  // with the names of files
  std::string folder;                           // in front of them
};

struct PackageSizes {
  std::vector<TrackSizes> video;  // by rendition
  TrackSizes iframes, thumbnails;
  std::vector<TrackSizes> audio;  // by presentation
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

  // `done`: of all work, from 0 to 1.
  using Told = std::function<void(double done, std::int64_t bytes)>;
  // The first error ends it. kCancelled when `stop` was asked for. `told` after each piece.
  Status Run(const std::stop_token& stop, const Told& told);
  [[nodiscard]] const PackageSizes& sizes() const { return sizes_; }
  [[nodiscard]] const PictureDamage& damage() const { return damage_; }

 private:
  struct Piece {            // what one job makes
    std::size_t place = 0;  // among all
    const Presentation* presentation = nullptr;
    PartName name;
    bool ladder = false;     // this segment of all renditions
    double work = 0;         // pictures, or what takes as long
    std::int64_t bytes = 0;  // of its packets, once they are read
  };
  struct Finished {
    Piece piece;
    Result<MadeSegments> made;
  };
  void Plan(const Presentation& presentation, PartTrack track, std::int64_t count);
  static double WorkOf(const Piece& piece);
  Status Submit(Piece piece);
  Result<std::vector<SegmentWork>> Read(const Piece& piece);
  Finished Take();
  Status Keep(const Finished& finished);
  void Count(const Presentation& presentation, const PartName& name, std::size_t bytes);

  MovieShelf& shelf_;
  Scheduler& scheduler_;
  const std::uint16_t service_class_;
  PackageFolder& folder_;
  std::vector<Piece> pieces_;        // first the segments of pictures, by their numbers
  PieceOrder order_;                 // of these
  const Presentation* const first_;  // of an array
  const bool few_;                   // segments, so that each may use other workers' PUs
  RunShelf runs_;
  PackageSizes sizes_;
  double work_ = 0, done_ = 0;
  PictureDamage damage_;
  std::int64_t next_unit_ = 0;
  int out_ = 0;                 // submitted and not taken
  std::int64_t bytes_out_ = 0;  // of their packets
  std::stop_source cancel_;

  Mutex mutex_;  // guards finished_, which jobs fill; all else is the caller's thread's
  CondVar changed_;
  std::deque<Finished> finished_ GOPMILL_GUARDED_BY(mutex_);
};

}  // namespace gopmill
