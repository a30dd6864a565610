// SPDX-License-Identifier: Apache-2.0
//
// Which long steps forwards of a file's times are meant. A container with one clock of its own (all
// but those with AVFMT_TS_DISCONT) says when each picture is shown, and nothing for as long as that
// stands: a slide, a screen on which nothing happens. A time that is broken looks the same, so it
// is read on until the next packet of the track tells: it goes on from there, or goes back. Those
// that are meant are marked (MarkMeant). The same of a picture that is shown kMaxAheadSeconds after
// it is decoded, since others coded out of order come behind one that stands so long. A step of
// sound alone, whose pictures go on from before it, is not meant: a clock was set.
//
// Memory: what is read on, kMaxStepPackets and kMaxStepBytes. Only behind a step of more than
// kMaxGapSeconds where no other track has come to that time.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "base/rational.h"
#include "base/status.h"
#include "media/av_ptr.h"

namespace gopmill {

inline constexpr std::size_t kMaxStepPackets = 2000;
inline constexpr std::int64_t kMaxStepBytes = 16 << 20;

class LongSteps {
 public:
  // Of each stream of the file. `reorders` as in TimestampRepair.
  struct Track {
    Rational time_base;
    bool counts = false;  // of pictures or sound
    bool pictures = false;
    bool reorders = false;
  };
  // As av_read_frame: a packet and 0, or a negative code. What else ends the reading is an Error.
  using Reader = std::function<Result<int>(AVPacket&)>;

  explicit LongSteps(const std::vector<Track>& tracks);

  // The file's next packet, in its order.
  Result<int> Next(const Reader& read, AVPacket& packet);

 private:
  struct State {
    Track track;
    std::optional<std::int64_t> last_us = {}, expected_us = {};
  };
  struct Doubt {
    int stream;
    std::int64_t us;  // the time in question
    bool shown;       // of showing, not of decoding
  };
  [[nodiscard]] const State* StateOf(const AVPacket& packet) const;
  [[nodiscard]] std::optional<Doubt> DoubtOf(const AVPacket& packet, std::int64_t us) const;
  [[nodiscard]] std::optional<bool> Tells(const AVPacket& packet, const Doubt& doubt) const;
  [[nodiscard]] bool GoesOnBefore(const AVPacket& packet, const Doubt& doubt) const;
  Result<bool> IsMeant(const Reader& read, const Doubt& doubt);

  std::vector<State> states_;
  std::deque<av::Packet> ahead_;
  std::optional<int> end_;  // the code that came behind these
};

}  // namespace gopmill
