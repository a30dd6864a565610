// SPDX-License-Identifier: Apache-2.0
//
// What one segment, one sheet of thumbnails or one still is made of: read from the file by the
// service's threads, worked on by a SegmentJob.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "codec/picture_sheet.h"
#include "media/ingest.h"
#include "media/segment_reader.h"
#include "server/segments/segmented_movie.h"

namespace gopmill {

// Compressed packets of one segment or sheet, with kPacketOverhead for each; a source that needs
// more is refused.
inline constexpr std::int64_t kMaxSegmentInput = std::int64_t{256} << 20U;

struct SegmentWork {
  std::shared_ptr<const SegmentedMovie> movie;
  PartName name;                          // of kind kSegment
  std::shared_ptr<const UnitInput> unit;  // pictures
  // Where it GoesOn: of its packets, those that the segment before was fed as well.
  std::optional<std::size_t> fed_before = {};
  std::vector<SheetRun> runs;       // thumbnails, stills
  std::vector<av::Packet> packets;  // sound

  [[nodiscard]] std::int64_t bytes() const;   // compressed, to be decoded
  [[nodiscard]] std::int64_t frames() const;  // to be made; 0 for sound
};

// What the packets that ReadSegmentWork reads take in memory: none where it refuses. Reads nothing.
std::int64_t WorkBytes(const SegmentedMovie& movie, const PartName& name);

// The part exists in the movie. kUnsupported beyond kMaxSegmentInput, errors of the reader.
Result<SegmentWork> ReadSegmentWork(std::shared_ptr<const SegmentedMovie> movie,
                                    const PartName& name, SegmentReader& reader);

// The same segment of all renditions of pictures, whose packets are read once.
Result<std::vector<SegmentWork>> ReadLadderWork(std::shared_ptr<const SegmentedMovie> movie,
                                                std::int64_t number, SegmentReader& reader);

// The segment is one of pictures that is decoded from the same packet on as the one before it, and
// may go on with its run.
bool GoesOn(const SegmentedMovie& movie, const PartName& name);

// Of what the bytes of a part that is made are a function, as text of fixed length: its track, and
// its number, or the output frame of a still.
std::string KeyOf(const SegmentedMovie& movie, const PartName& name);

// The track of a part that exists; the same of a segment of pictures, and of a still.
const SegmentTrack& TrackOf(const SegmentedMovie& movie, const PartName& name);
const VideoRendition& RenditionOf(const SegmentedMovie& movie, const PartName& name);
const StillRendition& StillsOf(const SegmentedMovie& movie, const PartName& name);

}  // namespace gopmill
