// SPDX-License-Identifier: Apache-2.0
//
// The tracks of text of an opened source: of a file they are collected while it is read, of a live
// source each cue is a packet (media/cue_packet.h). One of pictures is read if it alone is asked
// for as a script.
//
// Cues of a file come with the jumps of its pictures' clock closed, as a TimestampRepair closes
// them that has seen the same packets; of a live source, whose packets are repaired on their way,
// not.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "media/source_info.h"
#include "media/subtitle_bitmaps.h"
#include "media/subtitle_track.h"
#include "media/timestamp_repair.h"

namespace gopmill {

struct SourceOptions;

class SourceTexts {
 public:
  // Has the demuxer read what `options` ask for. A track that FFmpeg cannot read is left out.
  void Open(AVFormatContext& format, const SourceInfo& info, std::int64_t start_us,
            const SourceOptions& options);
  // A packet of pictures or sound, before it is changed; `track` as RepairTracks numbers them.
  void See(std::size_t track, const AVPacket& packet);
  // What has been seen so far does not count: it is seen again, or was left out. Cues stay.
  void Restart();
  // The next packet that is neither picture nor sound: whether it is now a cue for who reads.
  bool Take(AVPacket& packet);
  // What of a file has been collected, once.
  std::vector<SubtitleTrack> Finish();
  // Those that they were moved by, so far.
  [[nodiscard]] ClosedJumps jumps() const { return repair_ ? repair_->closed() : ClosedJumps(); }

 private:
  struct Text {
    SubtitleReader reader;
    SubtitleTrack track;
    int number = 0;                        // in SourceInfo::subtitles
    std::vector<std::size_t> closed = {};  // jumps that had been when each cue was read
  };
  struct Pictures {
    PictureReader reader;
    SubtitleTrack track;
  };
  std::vector<Text> texts_;
  std::optional<Pictures> pictures_;
  std::optional<TimestampRepair> repair_, fresh_;  // of files; before it has seen anything
  av::Packet times_;                               // for it
  bool as_packets_ = false;
  std::size_t bytes_ = 0;  // of their cues
};

}  // namespace gopmill
