// SPDX-License-Identifier: Apache-2.0
#include "codec/audio_resampler.h"

extern "C" {
#include <libavutil/channel_layout.h>
#include <libswresample/swresample.h>
}

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "media/source_info.h"

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
av::Frame Tone(int channels, AVSampleFormat format, int rate = kRate, int count = kCount) {
  av::Frame frame = av::NewFrame();
  frame->format = format;
  frame->sample_rate = rate;
  frame->nb_samples = count;
  av_channel_layout_default(&frame->ch_layout, channels);
  EXPECT_EQ(av_frame_get_buffer(frame.get(), 0), 0);
  const bool planar = av_sample_fmt_is_planar(format) != 0;
  for (int n = 0; n < count; ++n) {
    for (int c = 0; c < channels; ++c) {
      auto* samples = reinterpret_cast<std::int16_t*>(frame->extended_data[planar ? c : 0]);
      samples[planar ? n : n * channels + c] =
          static_cast<std::int16_t>(std::lround(Wave(n) * 32'768));
    }
  }
  return frame;
}

// A frame's samples, as they come in pieces.
std::vector<std::vector<float>> Converted(AudioResampler& resampler, const AVFrame& frame,
                                          std::size_t channels) {
  std::vector<std::vector<float>> made(channels);
  const Status status =
      resampler.Convert(&frame, [&](const float* const* planes, std::int64_t count) {
        for (std::size_t i = 0; i < channels; ++i) {
          made[i].insert(made[i].end(), planes[i], planes[i] + count);
        }
        return OkStatus();
      });
  EXPECT_TRUE(status.ok()) << status.error().ToString();
  return made;
}

// FFmpeg's resampler made noise of every layout but 5.1 and 7.1 that has a centre.
TEST(AudioResampler, MixesEveryLayoutToStereoAsAWave) {
  for (int channels = 1; channels <= 8; ++channels) {
    const av::Frame frame = Tone(channels, AV_SAMPLE_FMT_S16);
    auto resampler = AudioResampler::Open(*frame, kRate, AV_CH_LAYOUT_STEREO);
    ASSERT_TRUE(resampler.ok()) << channels;
    const std::vector<std::vector<float>> made = Converted(**resampler, *frame, 2);
    const float* left = made[0].data();
    ASSERT_EQ(made[0].size(), static_cast<std::size_t>(kCount)) << channels;
    const float factor = left[30] / Wave(30);
    EXPECT_GE(factor, 0.99F) << channels << " channels: none is softer than alone";
    for (int n = 0; n < kCount; ++n) {
      ASSERT_NEAR(left[n], factor * Wave(n), 0.001) << channels << " channels, sample " << n;
    }
  }
}

TEST(AudioResampler, LeavesChannelsThatAreWantedAsTheyAre) {
  const av::Frame frame = Tone(6, AV_SAMPLE_FMT_S16);
  auto resampler = AudioResampler::Open(*frame, kRate, AV_CH_LAYOUT_5POINT1_BACK);
  ASSERT_TRUE(resampler.ok());
  const std::vector<std::vector<float>> made = Converted(**resampler, *frame, 6);
  for (std::size_t c = 0; c < 6; ++c) EXPECT_NEAR(made[c].at(100), Wave(100), 0.001) << c;
}

// Ten seconds of 4 kHz in one frame, as an unusual block of raw sound may have: the memory that it
// takes is that of a second, and it can be ended after each.
TEST(AudioResampler, LongFramesComeInPiecesOfASecond) {
  constexpr int kLow = kLowestSoundRate, kSeconds = 10;
  const av::Frame frame = Tone(2, AV_SAMPLE_FMT_S16, kLow, kSeconds * kLow);
  auto resampler = AudioResampler::Open(*frame, kRate, AV_CH_LAYOUT_STEREO);
  ASSERT_TRUE(resampler.ok());
  std::int64_t longest = 0, all = 0;
  const auto measure = [&](const float* const*, std::int64_t count) {
    longest = std::max(longest, count);
    all += count;
    return OkStatus();
  };
  ASSERT_TRUE((*resampler)->Convert(frame.get(), measure).ok());
  ASSERT_TRUE((*resampler)->Convert(nullptr, measure).ok());
  EXPECT_EQ(all, kSeconds * kRate);
  EXPECT_LE(longest, kRate + kRate / 10);
  int calls = 0;
  const auto refuse = [&](const float* const*, std::int64_t) -> Status {
    ++calls;
    return Cancelled();
  };
  EXPECT_EQ((*resampler)->Convert(frame.get(), refuse).error().code, Code::kCancelled);
  EXPECT_EQ(calls, 1);
}

// Pieces join without a trace, in planes as well as interleaved.
TEST(AudioResampler, PiecesAreTheSameSamplesAsOneWhole) {
  for (const AVSampleFormat format : {AV_SAMPLE_FMT_S16, AV_SAMPLE_FMT_S16P}) {
    const av::Frame frame = Tone(2, format, 44'100, 3 * 44'100);
    auto whole = AudioResampler::Open(*frame, kRate, AV_CH_LAYOUT_STEREO);
    auto parts = AudioResampler::Open(*frame, kRate, AV_CH_LAYOUT_STEREO);
    ASSERT_TRUE(whole.ok() && parts.ok());
    std::vector<float> joined;
    const av::Frame part = av::NewFrame();
    ASSERT_EQ(av_frame_ref(part.get(), frame.get()), 0);
    part->nb_samples = 441;
    const bool planar = format == AV_SAMPLE_FMT_S16P;
    for (int i = 0; i < 300; ++i) {
      const auto made = Converted(**parts, *part, 2);
      joined.insert(joined.end(), made[1].begin(), made[1].end());
      for (int c = 0; c < (planar ? 2 : 1); ++c) part->extended_data[c] += 441 * (planar ? 2 : 4);
    }
    EXPECT_EQ(joined, Converted(**whole, *frame, 2)[1]) << planar;
  }
}

TEST(AudioResampler, RatesThatAreNoSoundAreRefused) {
  for (const int rate : {1, kLowestSoundRate - 1, kHighestSoundRate + 1}) {
    EXPECT_FALSE(
        AudioResampler::Open(*Tone(1, AV_SAMPLE_FMT_S16, rate), kRate, AV_CH_LAYOUT_STEREO).ok())
        << rate;
  }
  for (const int rate : {kLowestSoundRate, kHighestSoundRate}) {
    EXPECT_TRUE(
        AudioResampler::Open(*Tone(1, AV_SAMPLE_FMT_S16, rate), kRate, AV_CH_LAYOUT_STEREO).ok())
        << rate;
  }
}

}  // namespace
}  // namespace gopmill
