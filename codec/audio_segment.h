// SPDX-License-Identifier: Apache-2.0
//
// The sound of one segment, made alone: the source's packets around it are decoded, resampled and
// encoded on the stream's global grid of packets. Decoder, resampler and encoder all start early
// enough to have settled when the segment begins, what they make before it is dropped, and they run
// on beyond its end. So a segment adds no priming and no gap at its joins, and depends on nothing
// but the plan.
//
// Thread-safety: safe (pure functions); all state is in the arguments.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "base/status.h"
#include "media/av_ptr.h"
#include "media/segment_plan.h"
#include "media/source_index.h"
#include "media/target.h"

namespace gopmill {

// What an encoder for this target is like: packet size, priming and parameters for the muxer.
struct AudioCoding {
  int rate = 0, frame_size = 0, priming = 0;  // samples per second, samples, samples
  std::shared_ptr<const AVCodecParameters> parameters;
};
Result<AudioCoding> ProbeAudioCoding(const Target& target);

// Length of the sound of a clip that starts at `start` seconds of the source, in samples of
// `rate`; 0 = there is none. `duration` not valid = to the end.
std::int64_t AudioLength(const SourceIndex& index, Rational start, Rational duration, int rate);

struct PacketRange {
  std::int64_t first = 0, end = 0;
  std::int64_t bytes = 0;  // compressed
};
// The source packets that segment `number` is made of.
PacketRange AudioPackets(const SourceIndex& index, const AudioGrid& grid, Rational start,
                         std::int64_t number);

struct AudioSegmentTask {
  std::shared_ptr<const SourceIndex> index;
  AudioGrid grid;
  Target target;
  Rational start{0, 1};  // of the clip, seconds of the source
  std::int64_t number = 0;
  std::vector<av::Packet> packets;  // of AudioPackets, times in samples of the source's rate
};

// The segment's packets, times in samples of grid.rate on the output clock (the first packet of the
// first segment is priming and negative).
Result<std::vector<av::Packet>> EncodeAudioSegment(const AudioSegmentTask& task,
                                                   const std::stop_token& stop);

}  // namespace gopmill
