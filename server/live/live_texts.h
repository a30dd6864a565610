// SPDX-License-Identifier: Apache-2.0
//
// What a live source says in text: cues as they come, and segments of them, cut where those of the
// pictures are: WebVTT with whole cues, TTML with the part of each that is seen then. A cue is in
// each segment that it is seen in; one that comes when the segment
// has been cut already is in those to come. One whose end is not known yet is cut at the borders.
//
// Memory: what is still to be seen, within the two limits below; what comes beyond is left out.
//
// Thread-safety: compatible; guarded by the lock of its LivePresentation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "media/subtitle_track.h"
#include "media/target.h"
#include "server/live/live_track.h"

namespace gopmill {

// Cues of one track that are not over yet; bytes of those of all tracks.
inline constexpr std::size_t kMaxLiveCues = 1000;
inline constexpr std::size_t kMaxLiveCueBytes = std::size_t{128} << 10U;

// The time of a segment, microseconds of the presentation's clock.
struct LiveTextCut {
  std::int64_t begin_us = 0, end_us = 0;
  std::int64_t zero_us = 0;    // of the presentation, on the clock of the cues
  std::int64_t publisher = 0;  // of its pictures (Arrival)
};

// What a publisher said is over when another one comes, whatever its times say: the clock of the
// cues goes on without a jump, and a publisher may have said what is to be seen much later.
struct LiveCue {
  SubtitleCue cue;
  std::int64_t publisher = 0;  // who said it
};

class LiveTexts {
 public:
  // `container`: of the segments that it is shown with, on whose clock it has to be.
  explicit LiveTexts(std::size_t tracks, Container container = Container::kMp4)
      : container_(container), tracks_(tracks) {}

  // `track` exists. False if the cue is beyond a limit above, and left out.
  bool Add(std::size_t track, LiveCue cue);
  // The segments of all tracks. Forgets what ends with them.
  std::vector<LiveText> Cut(const LiveTextCut& cut);
  [[nodiscard]] std::size_t tracks() const { return tracks_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }  // of cues that are kept

 private:
  using Cues = std::vector<LiveCue>;  // by start; ends may be kNoEnd
  [[nodiscard]] static std::size_t SizeOf(const LiveCue& cue);
  LiveText CutTrack(Cues& cues, const LiveTextCut& cut);

  const Container container_;
  std::vector<Cues> tracks_;
  std::size_t bytes_ = 0;
};

}  // namespace gopmill
