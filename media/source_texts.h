// SPDX-License-Identifier: Apache-2.0
//
// The tracks of text of an opened source: of a file they are collected while it is read, of a live
// source each cue is a packet (media/cue_packet.h). One of pictures is read if it alone is asked
// for as a script.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "media/source_info.h"
#include "media/subtitle_pictures.h"
#include "media/subtitle_track.h"

namespace gopmill {

struct SourceOptions;

class SourceTexts {
 public:
  // Has the demuxer read what `options` ask for. A track that FFmpeg cannot read is left out.
  void Open(AVFormatContext& format, const SourceInfo& info, std::int64_t start_us,
            const SourceOptions& options);
  // The next packet that is neither picture nor sound: whether it is now a cue for who reads.
  bool Take(AVPacket& packet);
  // What of a file has been collected, once.
  std::vector<SubtitleTrack> Finish();

 private:
  struct Text {
    SubtitleReader reader;
    SubtitleTrack track;
    int number = 0;  // in SourceInfo::subtitles
  };
  struct Pictures {
    PictureReader reader;
    SubtitleTrack track;
  };
  std::vector<Text> texts_;
  std::optional<Pictures> pictures_;
  bool as_packets_ = false;
  std::size_t bytes_ = 0;  // of their cues
};

}  // namespace gopmill
