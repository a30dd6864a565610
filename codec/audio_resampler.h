// SPDX-License-Identifier: Apache-2.0
//
// Decoded audio of any rate, layout and sample format to planar float of one rate and layout.
//
// Resampling and mixing are done in 32-bit integers, for which swresample has one implementation on
// all CPUs; its float loops differ between instruction sets. Mixing down cannot overflow there
// because the matrix is scaled to at most 1; the scale is given back in float, so that the level is
// the one every player has (full-scale channels together may exceed 1, as in any downmix).
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "media/av_ptr.h"

namespace gopmill {

class AudioResampler {
 public:
  // For frames like this one, to `rate` and the default layout of `channels`.
  static Result<std::unique_ptr<AudioResampler>> Open(const AVFrame& like, int rate, int channels);
  ~AudioResampler();

  // Whether the frame has the same rate, layout and format as the one given to Open.
  [[nodiscard]] bool Accepts(const AVFrame& frame) const;
  // Converts a frame; nullptr brings the rest. Returns the number of samples in planes(); over a
  // whole run it is the input's count times the ratio of rates, rounded.
  Result<std::int64_t> Convert(const AVFrame* frame);
  // Valid until the next call.
  [[nodiscard]] const float* const* planes() const { return pointers_.data(); }

 private:
  AudioResampler() = default;
  void MakeMatrix(const AVChannelLayout& in, const AVChannelLayout& out);
  void Mix(std::int64_t count);
  std::int64_t Cap(std::int64_t produced) const;

  av::Resampler swr_;
  AVChannelLayout layout_{};  // as the frames have it
  int format_ = -1, in_rate_ = 0, out_rate_ = 0;
  // Factor of each channel (column) in each output (row); empty: the channels stay as they are.
  std::vector<double> matrix_;
  std::int64_t in_count_ = 0, out_count_ = 0;
  std::vector<std::vector<float>> resampled_, mixed_;
  std::vector<float*> resampled_pointers_, pointers_;
};

}  // namespace gopmill
