// SPDX-License-Identifier: Apache-2.0
//
// Fetches any stretch of an indexed source's packets: seeks near it, finds out by fingerprint where
// it landed, and gives each packet the times of the index. What a stretch consists of does not
// depend on what was read before.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <stop_token>
#include <vector>

#include "base/status.h"
#include "media/source_index.h"
#include "media/track_kind.h"

namespace gopmill {

class SegmentReader {
 public:
  // Opens the source that `index` was made of.
  static Result<std::unique_ptr<SegmentReader>> Open(UniqueFd fd,
                                                     std::shared_ptr<const SourceIndex> index,
                                                     std::stop_token stop);

  // Packets [first, end) of the track, times as the index has them: video in ticks of its time
  // base, audio in samples of the source's rate. Where pictures begin to be coded in another way
  // (SourceIndex::codings), a packet brings the header (coding_header.h). kIo when the file is not
  // the one that was indexed.
  Result<std::vector<av::Packet>> ReadVideo(std::int64_t first, std::int64_t end);
  Result<std::vector<av::Packet>> ReadAudio(std::int64_t first, std::int64_t end);

 private:
  struct Landing {
    std::int64_t number = -1;        // of the first of these; -1 = not found at or before the place
    std::deque<av::Packet> packets;  // that have been read
  };
  SegmentReader(UniqueFd fd, std::shared_ptr<const SourceIndex> index, std::stop_token stop)
      : fd_(std::move(fd)), stop_(std::move(stop)), index_(std::move(index)) {}
  Status OpenAtStart();
  // `kind`, here and below: pictures or sound, what the index has.
  Status SeekNear(TrackKind kind, std::int64_t first, std::int64_t back_us);
  Result<std::vector<av::Packet>> Read(TrackKind kind, std::int64_t first, std::int64_t end);
  Result<bool> TryRead(TrackKind kind, std::int64_t first, std::int64_t end, std::int64_t back_us,
                       std::vector<av::Packet>& packets);
  Result<Landing> LandAt(TrackKind kind, std::int64_t first, std::int64_t back_us);
  Result<bool> NextOf(TrackKind kind, AVPacket& packet);
  void Place(TrackKind kind, std::int64_t number, AVPacket& packet) const;
  [[nodiscard]] std::uint64_t FingerprintAt(TrackKind kind, std::int64_t number) const;
  [[nodiscard]] std::int64_t NumberOf(TrackKind kind, std::uint64_t fingerprint,
                                      std::int64_t near) const;
  void KeepRow(TrackKind kind, std::int64_t last, Landing& landing) const;

  const UniqueFd fd_;  // shares its place in the file with the source's
  const std::stop_token stop_;
  std::unique_ptr<Source> source_;
  std::shared_ptr<const SourceIndex> index_;
};

}  // namespace gopmill
