// SPDX-License-Identifier: Apache-2.0
//
// Audio packets of the source handed on as they are, cut to the clip at packet borders, with times
// on the output clock that never stand still or run backwards, and packets that never overlap.
//
// Where the source's times go back, the packets in what is there already are left out, as where
// sound is coded anew; what is left of it, less than a packet and rounding, stays.
//
// AAC with a header in every packet (ADTS, as transport streams have it) loses those headers when
// the container wants the description once at its start.
//
// Thread-safety: thread-compatible.
#pragma once

extern "C" {
#include <libavcodec/bsf.h>
}

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/status.h"
#include "media/av_ptr.h"
#include "media/source_info.h"

namespace gopmill {

// Packet-to-packet filter of libavcodec.
struct FreeBitstreamFilter {
  void operator()(AVBSFContext* context) const noexcept;
};

class AudioCopier {
 public:
  // `start` and `end` (not valid = none): seconds on the source's timeline.
  static Result<std::unique_ptr<AudioCopier>> Open(const AudioInfo& audio, Rational start,
                                                   Rational end, bool global_header);

  Status Push(const AVPacket& packet, std::vector<av::Packet>& out);
  // Whether packets that are coded like this can follow: kUnsupported naming "acodec" otherwise.
  [[nodiscard]] Status CheckSource(const AudioInfo& audio) const;

  [[nodiscard]] std::shared_ptr<const AVCodecParameters> parameters() const { return parameters_; }
  // One sample where the rate is known, else the source's.
  [[nodiscard]] Rational time_base() const { return time_base_; }

 private:
  AudioCopier() = default;
  Status StripHeaders(AVPacket& packet, bool& keep);
  bool Place(AVPacket& packet, std::int64_t nominal);

  std::shared_ptr<const AVCodecParameters> parameters_, source_;  // of what comes out; goes in
  std::unique_ptr<AVBSFContext, FreeBitstreamFilter> headers_;
  Rational source_base_, time_base_;
  std::int64_t start_ = 0;            // ticks of time_base_
  std::optional<std::int64_t> end_;   // ticks of time_base_, on the output clock
  std::optional<std::int64_t> next_;  // expected time of the next packet
  std::int64_t longest_ = 0;          // packet so far
  bool behind_ = false;               // packets are being left out
};

}  // namespace gopmill
