// SPDX-License-Identifier: Apache-2.0
//
// Samples to AAC or Opus packets, in frames of the codec's own size.
//
// Packet times are positions of samples: the first packet begins `initial_padding` samples before
// the first sample (the encoder's priming), the last one's duration ends with the last sample and
// says how much of its decoded sound is to be dropped.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/status.h"
#include "codec/audio_fifo.h"
#include "media/av_ptr.h"
#include "media/target.h"

namespace gopmill {

class AudioEncoder {
 public:
  // `acodec`: kAac or kOpus.
  static Result<std::unique_ptr<AudioEncoder>> Open(AudioCodec acodec, const SoundTarget& target,
                                                    bool global_header);

  // Encodes what fills whole frames; the rest too when `end`. Packets are appended to `out` with
  // times in 1/sample_rate.
  Status Encode(AudioFifo& fifo, bool end, std::vector<av::Packet>& out);

  [[nodiscard]] const AVCodecContext& context() const { return *context_; }

 private:
  explicit AudioEncoder(av::CodecContext context) : context_(std::move(context)) {}
  Status SendFrame(AudioFifo& fifo, int samples);
  Status Receive(std::vector<av::Packet>& out);

  av::CodecContext context_;
  bool fed_ = false;
};

}  // namespace gopmill
