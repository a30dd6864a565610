// SPDX-License-Identifier: Apache-2.0
#include "server/offline/packager.h"

#include <algorithm>
#include <utility>

#include "server/segments/segment_thumbnails.h"

namespace gopmill {

// The long ones first, so that workers have the others to do while they wait for what they go on
// with, and at the end.
Packager::Packager(const std::vector<Presentation>& presentations, MovieShelf& shelf,
                   Scheduler& scheduler, std::uint16_t service_class, PackageFolder& folder)
    : shelf_(shelf),
      scheduler_(scheduler),
      service_class_(service_class),
      folder_(folder),
      first_(presentations.data()),
      few_(presentations.front().movie->segments.count() < scheduler.worker_count()),
      runs_(kMaxPackageRunBytes * static_cast<std::size_t>(scheduler.worker_count())) {
  sizes_.video.resize(presentations.front().movie->video.size());
  sizes_.audio.resize(presentations.size());
  const Presentation& main = presentations.front();
  Plan(main, PartTrack::kVideo, main.movie->segments.count());
  if (main.movie->iframes) Plan(main, PartTrack::kIFrames, main.movie->segments.count());
  Plan(main, PartTrack::kThumbnails, main.movie->thumbnails.sheets());
  for (const Presentation& each : presentations) {
    if (each.movie->audio) Plan(each, PartTrack::kAudio, each.movie->audio->grid.count());
  }
}

Packager::~Packager() {
  cancel_.request_stop();
  while (out_ > 0) Take();
}

void Packager::Plan(const Presentation& presentation, PartTrack track, std::int64_t count) {
  for (std::int64_t k = 0; k < count; ++k) {
    pieces_.push_back({.place = pieces_.size(),
                       .presentation = &presentation,
                       .name = {.kind = PartKind::kSegment,
                                .track = track,
                                .number = k,
                                .container = presentation.movie->container},
                       .ladder = track == PartTrack::kVideo});
    order_.Add(GoesOn(*presentation.movie, pieces_.back().name));
    pieces_.back().work = WorkOf(pieces_.back());
    work_ += pieces_.back().work;
  }
}

// Roughly: for progress alone.
double Packager::WorkOf(const Piece& piece) {
  const SegmentedMovie& movie = *piece.presentation->movie;
  constexpr double kSheet = 2 * kThumbnailsPerSheet;  // most of it decoding
  constexpr double kSecondOfSound = 3;
  if (piece.name.track == PartTrack::kIFrames) return 2;
  if (piece.name.track == PartTrack::kThumbnails) return kSheet;
  if (piece.name.track == PartTrack::kAudio) {
    return kSecondOfSound * AudioSegmentDuration(movie.audio->grid, piece.name.number).ToDouble();
  }
  const auto k = static_cast<std::size_t>(piece.name.number);
  const std::int64_t frames = movie.segments.borders[k + 1] - movie.segments.borders[k];
  return static_cast<double>(frames) * static_cast<double>(movie.video.size());
}

Result<std::vector<SegmentWork>> Packager::Read(const Piece& piece) {
  const Shelved& shelved = piece.presentation->shelved;
  GOPMILL_ASSIGN_OR_RETURN(auto reader, shelf_.Reader(shelved, cancel_.get_token()));
  std::vector<SegmentWork> works;
  if (piece.ladder) {
    GOPMILL_ASSIGN_OR_RETURN(works, ReadLadderWork(shelved.movie, piece.name.number, *reader));
  } else {
    GOPMILL_ASSIGN_OR_RETURN(works.emplace_back(),
                             ReadSegmentWork(shelved.movie, piece.name, *reader));
  }
  shelved.file->GiveReader(std::move(reader));
  return works;
}

Status Packager::Submit(Piece piece) {
  GOPMILL_ASSIGN_OR_RETURN(std::vector<SegmentWork> works, Read(piece));
  piece.bytes = works.front().bytes();  // renditions share them
  const auto bytes = static_cast<std::size_t>(piece.bytes) + 1;
  const auto frames = static_cast<std::uint32_t>(works.front().frames());
  auto job = std::make_unique<SegmentJob>(
      std::move(works), runs_, /*awaited=*/few_, cancel_.get_token(),
      [this, piece](const JobReport& /*report*/, Result<MadeSegments> made) {
        const MutexLock lock(mutex_);
        finished_.push_back({.piece = piece, .made = std::move(made)});
        changed_.NotifyAll();
      });
  // Pictures of one kind are a stream: they use the same contexts.
  const StreamId stream{static_cast<std::uint64_t>(piece.name.track) + 1};
  GOPMILL_RETURN_IF_ERROR(scheduler_.Submit({.unit = {stream, UnitIndex{next_unit_++}},
                                             .stream_number = stream.value,
                                             .cost_bytes = bytes,
                                             .frames = frames,
                                             .service_class = service_class_},
                                            std::move(job)));
  ++out_;
  bytes_out_ += piece.bytes;
  return OkStatus();
}

Packager::Finished Packager::Take() {
  const MutexLock lock(mutex_);
  while (finished_.empty()) changed_.Wait(mutex_);
  Finished finished = std::move(finished_.front());
  finished_.pop_front();
  --out_;
  bytes_out_ -= finished.piece.bytes;
  return finished;
}

void Packager::Count(const Presentation& presentation, const PartName& name, std::size_t bytes) {
  const SegmentedMovie& movie = *presentation.movie;
  if (name.track == PartTrack::kAudio) {
    const double seconds = AudioSegmentDuration(movie.audio->grid, name.number).ToDouble();
    sizes_.audio[static_cast<std::size_t>(&presentation - first_)].Add(name.number, bytes, seconds);
  } else if (name.track == PartTrack::kThumbnails) {
    const double seconds = ThumbnailSheetSeconds(movie, name.number);
    sizes_.thumbnails.Add(name.number, bytes, seconds);
  } else {
    const double seconds = VideoSegmentDuration(movie.segments, name.number).ToDouble();
    const bool whole = name.track == PartTrack::kVideo;
    TrackSizes& sizes =
        whole ? sizes_.video[static_cast<std::size_t>(name.rendition)] : sizes_.iframes;
    sizes.Add(name.number, bytes, seconds);
  }
}

Status Packager::Keep(const Finished& finished) {
  if (!finished.made.ok()) return finished.made.error();
  const Piece& piece = finished.piece;
  if (const auto behind = order_.Made(piece.place)) {  // nobody goes on with this one
    runs_.Take(KeyOf(*pieces_[*behind].presentation->movie, pieces_[*behind].name));
  }
  PartName name = piece.name;
  for (const std::string& bytes : finished.made->bytes) {
    GOPMILL_RETURN_IF_ERROR(folder_.Write(piece.presentation->folder + TextOf(name), bytes));
    Count(*piece.presentation, name, bytes.size());
    ++name.rendition;
  }
  done_ += piece.work;
  if (!piece.ladder) return OkStatus();
  damage_ += finished.made->stats.damage;
  return OkStatus();
}

Status Packager::Run(const std::stop_token& stop, const Told& told) {
  const std::stop_callback forward(stop, [this] { cancel_.request_stop(); });
  const int most = kMaxPiecesAhead * scheduler_.worker_count();
  while (order_.left() > 0 || out_ > 0) {
    if (stop.stop_requested()) return Cancelled();
    if (out_ < most && bytes_out_ < kMaxPieceBytes) {
      if (const auto next = order_.Next(/*idle=*/out_ < scheduler_.worker_count())) {
        GOPMILL_RETURN_IF_ERROR(Submit(pieces_[*next]));
        continue;
      }
    }
    GOPMILL_RETURN_IF_ERROR(Keep(Take()));
    told(done_ / work_, folder_.bytes());
  }
  return OkStatus();
}

}  // namespace gopmill
