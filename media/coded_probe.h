// SPDX-License-Identifier: Apache-2.0
//
// Finds out what a track is that comes without a container: what its front end says of it,
// completed by decoding its first packets, as FFmpeg does for containers.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "media/av_ptr.h"
#include "media/packet_output.h"
#include "media/source_info.h"

namespace gopmill {

// Clock of the pictures of such a track, that of RTP. Senders' times are not exact; the grid of a
// live source forgives that.
inline constexpr Rational kCodedVideoBase{1, 90'000};

class VideoProbe {
 public:
  // kUnsupported for a codec that we do not take.
  static Result<VideoProbe> Open(const CodedTrack& track);

  // The next packet in decoding order, the first one being a key frame.
  void Push(const AVPacket& packet, std::int64_t pts_ns);
  // Everything is known; more packets may still correct the frame rate.
  [[nodiscard]] bool ready() const;
  // It is but for the rate, which is stated, and may not be that of the pictures.
  [[nodiscard]] bool usable() const { return decoded_ && StatedFps().positive(); }
  // Then that rate is to do: no more pictures come in time.
  void Settle() { settled_ = true; }
  // kCorrupt if no picture has been seen. The rate is within kLowestSourceFps and
  // kHighestSourceFps, whatever the sender states and however its times jump: the stated one,
  // unless pictures come faster than that.
  [[nodiscard]] Result<VideoInfo> Info() const;

 private:
  VideoProbe(CodedTrack track, av::CodecContext decoder)
      : track_(std::move(track)), decoder_(std::move(decoder)) {}
  [[nodiscard]] Rational StatedFps() const;
  [[nodiscard]] Rational MeasuredFps() const;
  [[nodiscard]] Rational Fps() const;
  [[nodiscard]] int SeenDelay() const;

  CodedTrack track_;
  av::CodecContext decoder_;
  bool decoded_ = false, settled_ = false;
  bool interlaced_ = false;
  std::vector<std::int64_t> times_;  // presentation times in decoding order, nanoseconds
};

// `first`: some packet of the track. What cannot be decoded is believed to be what `track` says.
// kCorrupt if that is no rate of sound.
Result<AudioInfo> ProbeAudio(const CodedTrack& track, const AVPacket& first);

}  // namespace gopmill
