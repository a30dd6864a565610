// SPDX-License-Identifier: Apache-2.0
//
// Source audio packets to decoded frames. Where FFmpeg has a fixed-point decoder (AAC, MP3, AC-3)
// it is taken, because its samples are the same on every CPU.
//
// Encoder delay and padding that the container states are cut by the decoder, and the frame's pts
// moved on accordingly.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "base/rational.h"
#include "base/status.h"
#include "media/av_ptr.h"

namespace gopmill {

class AudioDecoder {
 public:
  static Result<std::unique_ptr<AudioDecoder>> Open(const AVCodecParameters& parameters,
                                                    Rational time_base);

  // Feeds one packet; nullptr = the end. A damaged packet is counted, and yields false; so do all
  // behind one at which the decoder failed an assertion of its own.
  bool Send(const AVPacket* packet);
  // The next frame, if there is one; pts in the time base given to Open.
  bool Receive(AVFrame& frame);

  [[nodiscard]] std::int64_t damaged() const { return damaged_; }

 private:
  explicit AudioDecoder(av::CodecContext context) : context_(std::move(context)) {}
  // What a call returns; AVERROR_BUG where it failed an assertion. The decoder is left behind then.
  template <class Call>
  int Guarded(const Call& call);
  bool SendWhole(const AVPacket* packet);
  // The next frame of a packet that has more of them (amr_frames.h).
  bool SendOfRest();
  // Takes what the container cuts off a packet from it.
  void TakeCuts(AVPacket& packet);
  // Gives a frame of the packet, the next one, its part of that.
  void CutFrame(AVPacket& frame);

  av::CodecContext context_;
  av::Packet rest_;  // of the packet sent last, what the decoder has not had; null = nothing
  std::int64_t front_cut_ = 0;  // samples at the beginning of the rest that are not heard
  std::int64_t heard_ = 0;      // samples of the rest that are in front of what is cut at its end
  std::int64_t damaged_ = 0;
};

// Whether the decoder used for this codec (FFmpeg's name) gives the same samples on every CPU.
bool AudioDecoderCpuIndependent(std::string_view codec);

}  // namespace gopmill
