// SPDX-License-Identifier: Apache-2.0
#include "codec/audio_resampler.h"

extern "C" {
#include <libavutil/channel_layout.h>
#include <libswresample/swresample.h>
}

#include <gtest/gtest.h>
#include <malloc.h>

#include <cmath>
#include <cstddef>

// The library writes a matrix of SWR_CH_MAX rows and columns, however few were asked for.
extern "C" int __real_swr_build_matrix2(const AVChannelLayout*, const AVChannelLayout*, double,
                                        double, double, double, double, double*, std::ptrdiff_t,
                                        AVMatrixEncoding, void*);
extern "C" int __wrap_swr_build_matrix2(const AVChannelLayout* in, const AVChannelLayout* out,
                                        double centre, double surround, double lfe, double most,
                                        double volume, double* matrix, std::ptrdiff_t stride,
                                        AVMatrixEncoding encoding, void* context) {
  constexpr std::size_t kMost = 64;
  EXPECT_GE(stride, static_cast<std::ptrdiff_t>(kMost));
  EXPECT_GE(malloc_usable_size(matrix), kMost * kMost * sizeof(double));
  return __real_swr_build_matrix2(in, out, centre, surround, lfe, most, volume, matrix, stride,
                                  encoding, context);
}

namespace gopmill {
namespace {

constexpr int kRate = 48'000, kCount = 4800;

float Wave(int n) { return static_cast<float>(0.2 * std::sin(0.05 * n)); }

// The same wave in all channels.
av::Frame Tone(int channels, AVSampleFormat format) {
  av::Frame frame = av::NewFrame();
  frame->format = format;
  frame->sample_rate = kRate;
  frame->nb_samples = kCount;
  av_channel_layout_default(&frame->ch_layout, channels);
  EXPECT_EQ(av_frame_get_buffer(frame.get(), 0), 0);
  auto* samples = reinterpret_cast<std::int16_t*>(frame->data[0]);
  for (int n = 0; n < kCount; ++n) {
    for (int c = 0; c < channels; ++c) {
      samples[n * channels + c] = static_cast<std::int16_t>(std::lround(Wave(n) * 32'768));
    }
  }
  return frame;
}

// FFmpeg's resampler made noise of every layout but 5.1 and 7.1 that has a centre.
TEST(AudioResampler, MixesEveryLayoutToStereoAsAWave) {
  for (int channels = 1; channels <= 8; ++channels) {
    const av::Frame frame = Tone(channels, AV_SAMPLE_FMT_S16);
    auto resampler = AudioResampler::Open(*frame, kRate, 2);
    ASSERT_TRUE(resampler.ok()) << channels;
    const auto count = (*resampler)->Convert(frame.get());
    ASSERT_TRUE(count.ok()) << channels;
    ASSERT_EQ(*count, kCount) << channels;
    const float* left = (*resampler)->planes()[0];
    const float factor = left[30] / Wave(30);
    EXPECT_GE(factor, 0.99F) << channels << " channels: none is softer than alone";
    for (int n = 0; n < kCount; ++n) {
      ASSERT_NEAR(left[n], factor * Wave(n), 0.001) << channels << " channels, sample " << n;
    }
  }
}

TEST(AudioResampler, LeavesChannelsThatAreWantedAsTheyAre) {
  const av::Frame frame = Tone(6, AV_SAMPLE_FMT_S16);
  auto resampler = AudioResampler::Open(*frame, kRate, 6);
  ASSERT_TRUE(resampler.ok());
  ASSERT_TRUE((*resampler)->Convert(frame.get()).ok());
  for (int c = 0; c < 6; ++c) EXPECT_NEAR((*resampler)->planes()[c][100], Wave(100), 0.001) << c;
}

}  // namespace
}  // namespace gopmill
