// SPDX-License-Identifier: Apache-2.0
//
// All packets of a source without their payload: what it takes to plan any part of it and to find
// that part again. Made by reading the file once, without decoding.
//
// Thread-safety: safe once made (const).
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "base/status.h"
#include "media/packet_meta.h"
#include "media/source.h"

namespace gopmill {

// Packets of both tracks together; a source with more is refused (about a day of film).
inline constexpr std::size_t kMaxIndexedPackets = 8'000'000;

struct SourceIndex {
  // One video packet, in decode order, after repair (ticks of the video's time base).
  struct Video {
    SourceTicks pts = 0;         // as planned with
    SourceTicks packet_pts = 0;  // as decoded with; AV_NOPTS_VALUE where the source has none
    SourceTicks dts = 0;
    std::int64_t seek_us = 0;       // container time to seek to, microseconds
    std::uint64_t fingerprint = 0;  // of payload and place in the file
    std::int32_t bytes = 0;
    RandomAccess access = RandomAccess::kNone;
    bool hidden = false;  // PacketMeta
    friend bool operator==(const Video&, const Video&) = default;
  };
  // One audio packet; one that is not heard (av::IsHidden) has no samples. `position` counts
  // samples of the source's rate from the source's zero; gaps and jumps are in it, rounding of
  // container times is not (rules of media/audio_timeline).
  struct Audio {
    std::int64_t position = 0;
    std::int64_t seek_us = 0;
    std::uint64_t fingerprint = 0;
    std::int32_t samples = 0;
    std::int32_t bytes = 0;
    friend bool operator==(const Audio&, const Audio&) = default;
  };

  // From this packet on pictures are coded as that says (PacketSource::coded).
  struct Coding {
    std::int64_t first_packet = 0;
    std::shared_ptr<const SourceInfo> coded;
  };

  std::shared_ptr<const SourceInfo> source;
  int audio_track = 0;  // as asked for
  bool counted_pts = false;
  bool truncated = false;
  SourceTicks video_end = 0;  // end of the last picture
  // Pictures in front of the first that can be decoded on its own, and those that come behind it
  // and are to be shown before it: no segment has them.
  std::int64_t left_out = 0;
  std::vector<Video> video;
  std::vector<Audio> audio;
  std::vector<Coding> codings;           // ascending; before the first they are as `source` says
  std::vector<SubtitleTrack> subtitles;  // those with cues

  // What this packet of the pictures is coded as.
  [[nodiscard]] const std::shared_ptr<const SourceInfo>& CodedAt(std::int64_t packet) const;
  // Where the pictures begin.
  [[nodiscard]] SourceTicks first_pts() const;
  [[nodiscard]] std::size_t footprint_bytes() const;
};

// Opens a source as it is indexed, with the sound track of this number. Errors as Source::Open, and
// kUnsupported on a pipe.
Result<std::unique_ptr<Source>> OpenToIndex(UniqueFd fd, const std::stop_token& stop,
                                            int audio_track);

// Reads the source to its end, with the sound track of this number (SourceOptions); its subtitles
// are followed by those of files `beside` it. Errors as OpenToIndex, and kUnsupported beyond
// kMaxIndexedPackets; kCorrupt when there is no picture; kIo when a read failed, since
// what comes behind it is not known. A file that is damaged, or ends early, has what there is.
Result<std::shared_ptr<const SourceIndex>> IndexSource(UniqueFd fd, const std::stop_token& stop,
                                                       int audio_track = 0,
                                                       std::vector<SubtitleTrack> beside = {});

// Identifies a packet among those of its source. Nearly always whatever place reading began at: of
// packets that are cut out of others, FFmpeg may state another place in the file.
std::uint64_t PacketFingerprint(const AVPacket& packet);
// Whether it has the size and payload of the packet with this fingerprint, at any place.
bool HasPayloadOf(std::uint64_t fingerprint, const AVPacket& packet);

}  // namespace gopmill
