// SPDX-License-Identifier: Apache-2.0
//
// The whole audio of one stream, decoded, resampled and encoded continuously (or copied): never per
// unit, since every new AAC encoder adds one 1,024-sample frame of priming.
//
// Guarantees: sample-exact position on the output clock: gaps are filled with silence, overlaps are
// trimmed, start and end are cut to the sample; encoder priming is stated (initial_padding) so that
// the muxer can signal it. Output is a pure function of the packets fed; whether also independent
// of the CPU's instruction sets says AudioCpuIndependent.
//
// Sound that starts late starts late: nothing is put in front of it. Damaged packets become
// silence. A channel that is mixed to stereo keeps its level; 5.1 is mixed down by the usual -3 dB
// weights.
//
// Sound is made in pieces of about a second at most, and the stop token is looked at between them:
// a packet may stand for hours of it.
//
// Thread-safety: thread-compatible; owned by the stream's ingest thread.
#pragma once

#include <memory>
#include <stop_token>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "media/av_ptr.h"
#include "media/plan.h"

namespace gopmill {

struct AudioClip {
  // The part of the source to keep, seconds on the source's own timeline (ingest's zero); `end` not
  // valid = to the end. Output time 0 is `start`.
  Rational start{0, 1};
  Rational end;
};

class AudioTranscoder {
 public:
  // For plan.target.acodec kAac, kOpus or kCopy. `sound`: the number of the track, which the source
  // must have (SourceInfo::sound). `stop` ends any call with kCancelled.
  static Result<std::unique_ptr<AudioTranscoder>> Open(const StreamPlan& plan,
                                                       const AudioClip& clip, bool global_header,
                                                       std::size_t sound = 0,
                                                       std::stop_token stop = {});
  ~AudioTranscoder();

  // Feeds one source packet (pts, dts in the source audio time base, already repaired by the
  // ingest; nullptr = end). Coded packets are appended to `out` with pts, dts and duration in
  // time_base().
  Status Push(const AVPacket* packet, std::vector<av::Packet>& out);

  // From the next packet on the source is coded like this, with the same time base. A copy cannot
  // change what it has begun with: kUnsupported naming "acodec".
  Status ChangeSource(const AudioInfo& audio, std::vector<av::Packet>& out);
  // The source brings no sound before `seconds` of the output clock: silence goes on until then.
  // Where there has been no sound yet, `begin` says whether it begins there. A copy has a gap
  // instead.
  Status FillTo(double seconds, bool begin, std::vector<av::Packet>& out);

  // Parameters for the muxer. With encoder priming the first packet has a negative pts.
  [[nodiscard]] std::shared_ptr<const AVCodecParameters> parameters() const;
  // 1/sample_rate; the source's when copying a codec whose rate is not known.
  [[nodiscard]] Rational time_base() const;
  [[nodiscard]] std::int64_t damaged() const;   // source packets that could not be decoded
  [[nodiscard]] double filled_seconds() const;  // silence where the source had no sound

 private:
  struct Impl;
  explicit AudioTranscoder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Whether transcoding from this codec (FFmpeg's name) gives the same bytes on every CPU. FFmpeg's
// AAC encoder and the fixed-point decoders do (measured with all instruction sets and none);
// libopus chooses its loops by the CPU, and floating-point decoders (Opus, Vorbis, E-AC-3, DTS)
// round differently.
bool AudioCpuIndependent(std::string_view source_codec, AudioCodec target);

}  // namespace gopmill
