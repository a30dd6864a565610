// SPDX-License-Identifier: Apache-2.0
//
// Lengths and bit rates of the source as far as FFmpeg's demuxer of MP4 mistakes them. It divides
// the bytes of the fragments that it has read by the length of the whole movie; where an index
// (sidx) tells it of the others, as in on-demand DASH and CMAF, that is the first one alone. And it
// takes for the length of a fragmented movie the time at which that ends, though it may begin an
// hour later, as what was cut out of a live stream does.
//
// Thread-safety: compatible.
#pragma once

#include <cstdint>
#include <vector>

#include "media/av_ptr.h"

namespace gopmill {

class TrackRates {
 public:
  // Of a file that has been probed, whose index says that it begins at `index_begin` seconds:
  // packets that are known in part may be late by an edit list, too. Looks at all that the demuxer
  // knows of the tracks' packets, once. The context must outlive it.
  explicit TrackRates(AVFormatContext& format, double index_begin = 0);

  // Of the whole file, bits per second. 0 = unknown.
  [[nodiscard]] std::int64_t file() const;
  // Mean of a track, bits per second, as the container states it. Where FFmpeg knows a part of an
  // MP4 only, it is the track's share in the file by the bytes of that part, or without a rate of
  // the file the mean of that part. 0 = unknown.
  [[nodiscard]] std::int64_t Of(const AVStream& stream) const;
  // Microseconds by which the length that FFmpeg states is too long.
  [[nodiscard]] std::int64_t lead() const { return lead_; }

 private:
  // What the demuxer knows of a track's packets.
  struct KnownPart {
    double bits = 0;
    double first = 0, end = 0;  // seconds; the last packet is as long as the others in the mean
    double before = 0;          // of the track's stated length: time in front of its first packet
  };
  static KnownPart PartOf(AVStream& stream, double index_begin);
  [[nodiscard]] std::int64_t FindLead() const;

  const AVFormatContext& format_;
  const bool mp4_;
  std::vector<KnownPart> parts_;  // by track
  std::int64_t lead_ = 0;
};

}  // namespace gopmill
