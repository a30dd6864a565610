// SPDX-License-Identifier: Apache-2.0
#include "codec/audio_resampler.h"

extern "C" {
#include <libavutil/channel_layout.h>
#include <libavutil/opt.h>
}

#include <algorithm>
#include <limits>
#include <numbers>

#include "base/rational.h"
#include "media/av_error.h"
#include "media/sound_layout.h"
#include "media/source_info.h"

namespace gopmill {
namespace {

constexpr const char* kConverting = "The audio cannot be converted";

// A layout that is only a number of channels is taken as the one that comes out, if that has as
// many, else as the usual one of that number.
AVChannelLayout Known(const AVChannelLayout& layout, const AVChannelLayout& out) {
  AVChannelLayout known{};
  if (layout.order == AV_CHANNEL_ORDER_UNSPEC && layout.nb_channels == out.nb_channels) {
    av_channel_layout_copy(&known, &out);
  } else if (layout.order == AV_CHANNEL_ORDER_UNSPEC) {
    av_channel_layout_default(&known, layout.nb_channels);
  } else {
    av_channel_layout_copy(&known, &layout);
  }
  return known;
}

// Factors of each channel (column) in each output (row).
using Matrix = std::vector<double>;

bool SameChannels(const AVChannelLayout& in, const AVChannelLayout& out) {
  return in.order == AV_CHANNEL_ORDER_NATIVE && SameSpeakers(in.u.mask, out.u.mask);
}

// Each channel goes to the loudspeaker of its name, or of its other one.
Matrix Renamed(const AVChannelLayout& in, const AVChannelLayout& out) {
  const auto speaker = [](const AVChannelLayout& layout, int index) {
    const AVChannel channel =
        av_channel_layout_channel_from_index(&layout, static_cast<unsigned>(index));
    if (channel == AV_CHAN_SIDE_LEFT) return AV_CHAN_BACK_LEFT;
    return channel == AV_CHAN_SIDE_RIGHT ? AV_CHAN_BACK_RIGHT : channel;
  };
  Matrix matrix;
  for (int row = 0; row < out.nb_channels; ++row) {
    for (int column = 0; column < in.nb_channels; ++column) {
      matrix.push_back(speaker(out, row) == speaker(in, column) ? 1 : 0);
    }
  }
  return matrix;
}

// FFmpeg's; empty where it does not know what to do.
Matrix UsualMix(const AVChannelLayout& in, const AVChannelLayout& out) {
  constexpr double kLevel = 1 / std::numbers::sqrt2;
  // It scales so many rows and columns, however few the layouts have (SWR_CH_MAX, which is not in
  // its header; rematrix.c of FFmpeg 4.4 to 7.1).
  constexpr std::size_t kMostChannels = 64;
  std::vector<double> all(kMostChannels * kMostChannels);
  const int result =
      swr_build_matrix2(&in, &out, kLevel, kLevel, 0, std::numeric_limits<int>::max(), 1,
                        all.data(), kMostChannels, AV_MATRIX_ENCODING_NONE, nullptr);
  Matrix matrix;
  for (int row = 0; result >= 0 && row < out.nb_channels; ++row) {
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(kMostChannels) * row;
    matrix.insert(matrix.end(), from, from + in.nb_channels);
  }
  return matrix;
}

// Whether a channel is not heard at all. That of low frequencies may be: downmixes leave it out.
bool LosesOne(const Matrix& matrix, const AVChannelLayout& in) {
  const auto columns = static_cast<std::size_t>(in.nb_channels);
  for (std::size_t column = 0; column < columns; ++column) {
    double sum = 0;
    for (std::size_t i = column; i < matrix.size(); i += columns) sum += matrix[i];
    const auto index = static_cast<unsigned>(column);
    const AVChannel channel = av_channel_layout_channel_from_index(&in, index);
    if (sum == 0 && channel != AV_CHAN_LOW_FREQUENCY) return true;
  }
  return false;
}

Matrix Mixed(const AVChannelLayout& in, const AVChannelLayout& out) {
  const auto columns = static_cast<std::size_t>(in.nb_channels);
  const auto rows = static_cast<std::size_t>(out.nb_channels);
  // One channel goes to both speakers as it is; FFmpeg would take 3 dB off.
  if (columns == 1 && rows <= 2) return Matrix(rows, 1.0);
  Matrix matrix = UsualMix(in, out);
  if (!matrix.empty() && (rows != columns || !LosesOne(matrix, in))) return matrix;
  // Channels that nobody says where to put (ten of a recorder, say): the first ones are taken.
  matrix.assign(rows * columns, 0.0);
  for (std::size_t i = 0; i < std::min(rows, columns); ++i) matrix[i * columns + i] = 1;
  return matrix;
}

}  // namespace

AudioResampler::~AudioResampler() { av_channel_layout_uninit(&layout_); }

Result<std::unique_ptr<AudioResampler>> AudioResampler::Open(const AVFrame& like, int rate,
                                                             std::uint64_t layout) {
  if (!SoundRateUsable(like.sample_rate)) return av::AvError(kConverting, AVERROR(EINVAL));
  std::unique_ptr<AudioResampler> made(new AudioResampler);
  av_channel_layout_copy(&made->layout_, &like.ch_layout);
  made->format_ = like.format;
  made->in_rate_ = like.sample_rate;
  made->out_rate_ = rate;
  AVChannelLayout out{};
  av_channel_layout_from_mask(&out, layout);
  AVChannelLayout in = Known(like.ch_layout, out);
  made->resampled_.resize(static_cast<std::size_t>(in.nb_channels));
  made->resampled_pointers_.resize(made->resampled_.size());
  SwrContext* raw = nullptr;
  int result =
      swr_alloc_set_opts2(&raw, &in, AV_SAMPLE_FMT_FLTP, rate, &in,
                          static_cast<AVSampleFormat>(like.format), like.sample_rate, 0, nullptr);
  made->swr_.reset(raw);
  if (result >= 0) {
    result = av_opt_set_sample_fmt(raw, "internal_sample_fmt", AV_SAMPLE_FMT_S32P, 0);
  }
  if (result >= 0) result = av_opt_set_int(raw, "exact_rational", 1, 0);
  if (result >= 0) result = swr_init(raw);
  if (result >= 0) made->MakeMatrix(in, out);
  av_channel_layout_uninit(&in);
  if (result < 0) return av::AvError(kConverting, result);
  return made;
}

// FFmpeg's resampler spoils samples of 32 bits when it mixes three or more channels of most layouts
// into one (it takes them for 16 bits), so the mixing is done here.
void AudioResampler::MakeMatrix(const AVChannelLayout& in, const AVChannelLayout& out) {
  if (av_channel_layout_compare(&in, &out) == 0) return;
  mixed_.resize(static_cast<std::size_t>(out.nb_channels));
  pointers_.resize(mixed_.size());
  matrix_ = SameChannels(in, out) ? Renamed(in, out) : Mixed(in, out);
}

void AudioResampler::Mix(std::int64_t count) {
  const auto samples = static_cast<std::size_t>(count);
  for (std::size_t row = 0; row < mixed_.size(); ++row) {
    mixed_[row].assign(samples, 0.0F);
    pointers_[row] = mixed_[row].data();
    for (std::size_t i = 0; i < resampled_.size(); ++i) {
      const auto factor = static_cast<float>(matrix_[row * resampled_.size() + i]);
      if (factor == 0) continue;
      for (std::size_t n = 0; n < samples; ++n) mixed_[row][n] += factor * resampled_[i][n];
    }
  }
}

bool AudioResampler::Accepts(const AVFrame& frame) const {
  return frame.format == format_ && frame.sample_rate == in_rate_ &&
         av_channel_layout_compare(&frame.ch_layout, &layout_) == 0;
}

// The filter's tail may bring a sample more than the input was worth.
std::int64_t AudioResampler::Cap(std::int64_t produced) const {
  const std::int64_t due = Rescale(in_count_, {1, in_rate_}, {1, out_rate_});
  return std::clamp<std::int64_t>(due - out_count_, 0, produced);
}

Result<std::int64_t> AudioResampler::ConvertPiece(const AVFrame* frame, int first, int count) {
  const int room = std::max(swr_get_out_samples(swr_.get(), count), 0) + 32;
  for (std::size_t i = 0; i < resampled_.size(); ++i) {
    resampled_[i].resize(static_cast<std::size_t>(room));
    resampled_pointers_[i] = resampled_[i].data();
  }
  if (frame != nullptr) {
    const auto format = static_cast<AVSampleFormat>(frame->format);
    const bool planar = av_sample_fmt_is_planar(format) != 0;
    const std::size_t step = static_cast<std::size_t>(av_get_bytes_per_sample(format)) *
                             (planar ? 1 : resampled_.size());
    inputs_.resize(planar ? resampled_.size() : 1);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      inputs_[i] = frame->extended_data[i] + static_cast<std::size_t>(first) * step;
    }
  }
  in_count_ += count;
  const int made =
      swr_convert(swr_.get(), reinterpret_cast<std::uint8_t**>(resampled_pointers_.data()), room,
                  frame == nullptr ? nullptr : inputs_.data(), count);
  if (made < 0) return av::AvError(kConverting, made);
  const std::int64_t kept = Cap(made);
  out_count_ += kept;
  if (matrix_.empty()) {
    pointers_ = resampled_pointers_;
  } else {
    Mix(kept);
  }
  return kept;
}

// A second of input is a second of output, whatever the two rates are.
Status AudioResampler::Convert(const AVFrame* frame, const Take& take) {
  const int count = frame == nullptr ? 0 : frame->nb_samples;
  int first = 0;
  do {
    const int piece = std::min(count - first, in_rate_);
    GOPMILL_ASSIGN_OR_RETURN(const std::int64_t made, ConvertPiece(frame, first, piece));
    GOPMILL_RETURN_IF_ERROR(take(pointers_.data(), made));
    first += piece;
  } while (first < count);
  return OkStatus();
}

}  // namespace gopmill
