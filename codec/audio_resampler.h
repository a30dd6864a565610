// SPDX-License-Identifier: Apache-2.0
//
// Decoded audio of any rate, layout and sample format to planar float of one rate and layout.
//
// Resampling is done in 32-bit integers, for which swresample has one implementation on all CPUs;
// its float loops differ between instruction sets. Channels are mixed behind that, here, one after
// the other in float, with a matrix that is not scaled: full-scale channels together may exceed 1,
// as in any downmix. That is the same on all CPUs because nothing of it is left to swresample, and
// as long as it is compiled without products that are fused with sums and without another order.
//
// However long a frame is and however far its rate is from the one wanted, it is converted in
// pieces of at most about a second: what that takes of memory is bounded, and whoever takes the
// pieces can end it between them.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/status.h"
#include "media/av_ptr.h"

namespace gopmill {

class AudioResampler {
 public:
  // Takes `count` samples, one array per channel, which are valid during the call.
  using Take = std::function<Status(const float* const* planes, std::int64_t count)>;

  // For frames like this one, to `rate` and the channels of `layout` (media/sound_layout.h). Of as
  // many channels none is lost but one of low frequencies. Frames of a rate that is not
  // SoundRateUsable are refused.
  static Result<std::unique_ptr<AudioResampler>> Open(const AVFrame& like, int rate,
                                                      std::uint64_t layout);
  ~AudioResampler();

  // Whether the frame has the same rate, layout and format as the one given to Open.
  [[nodiscard]] bool Accepts(const AVFrame& frame) const;
  // Converts a frame; nullptr brings the rest. The number of samples taken over a whole run is the
  // input's count times the ratio of rates, rounded. An error of `take` ends it.
  Status Convert(const AVFrame* frame, const Take& take);

 private:
  AudioResampler() = default;
  void MakeMatrix(const AVChannelLayout& in, const AVChannelLayout& out);
  Result<std::int64_t> ConvertPiece(const AVFrame* frame, int first, int count);
  void Mix(std::int64_t count);
  std::int64_t Cap(std::int64_t produced) const;

  av::Resampler swr_;
  AVChannelLayout layout_{};  // as the frames have it
  int format_ = -1, in_rate_ = 0, out_rate_ = 0;
  // Factor of each channel (column) in each output (row); empty: the channels stay as they are.
  std::vector<double> matrix_;
  std::int64_t in_count_ = 0, out_count_ = 0;
  std::vector<const std::uint8_t*> inputs_;  // planes of the piece
  std::vector<std::vector<float>> resampled_, mixed_;
  std::vector<float*> resampled_pointers_, pointers_;
};

}  // namespace gopmill
