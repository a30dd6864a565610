// SPDX-License-Identifier: Apache-2.0
#include "codec/frame_filter.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavutil/cpu.h>
#include <libavutil/pixdesc.h>
}

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "codec/av_filter_compat.h"
#include "codec/picture.h"
#include "codec/picture_geometry.h"
#include "media/av_error.h"
#include "tests/unit/codec/test_frames.h"

namespace gopmill {
namespace {

using testing::LumaAt;
using testing::MakePlainFrame;
using testing::PaintLuma;
using testing::PixelHash;
using testing::Scene;

FilterSpec SpecOf(const AVFrame& frame, int width, int height, Fit fit = Fit::kFit) {
  return FilterSpec{.in_width = frame.width,
                    .in_height = frame.height,
                    .in_format = frame.format,
                    .in_color_range = AVCOL_RANGE_MPEG,
                    .width = width,
                    .height = height,
                    .format = AV_PIX_FMT_YUV420P,
                    .fit = fit};
}

std::unique_ptr<FrameFilter> Open(const FilterSpec& spec) {
  auto filter = FrameFilter::Open(spec);
  EXPECT_TRUE(filter.ok()) << filter.error().ToString();
  return std::move(filter).value();
}

av::Frame Once(const FilterSpec& spec, const AVFrame& frame) {
  av::Frame out = av::NewFrame();
  const auto got = Open(spec)->Filter(&frame, *out);
  EXPECT_TRUE(got.ok() && *got);
  EXPECT_EQ(out->pts, frame.pts);
  EXPECT_EQ(out->width, spec.width);
  EXPECT_EQ(out->height, spec.height);
  EXPECT_EQ(out->format, spec.format);
  return out;
}

TEST(FrameFilter, PassesOnWhatNeedsNoChange) {
  const av::Frame frame = testing::MakeFrame({}, 3);
  const av::Frame out = Once(SpecOf(*frame, frame->width, frame->height), *frame);
  EXPECT_EQ(out->data[0], frame->data[0]) << "the same memory";
}

TEST(FrameFilter, YieldsTheSameBytesWarmAsCold) {
  const Scene scene{.width = 180, .height = 101};
  const FilterSpec spec = SpecOf(*testing::MakeFrame(scene, 0), 128, 72);
  const auto warm = Open(spec);
  for (int n = 0; n < 5; ++n) {
    const av::Frame frame = testing::MakeFrame(scene, n);
    av::Frame out = av::NewFrame();
    ASSERT_TRUE(*warm->Filter(frame.get(), *out));
    EXPECT_EQ(PixelHash(*out), PixelHash(*Once(spec, *frame)));
  }
}

TEST(FrameFilter, YieldsTheSameBytesOnEveryCpu) {
  const int normal = av_get_cpu_flags();
  constexpr int kSse2 = AV_CPU_FLAG_MMX | AV_CPU_FLAG_MMXEXT | AV_CPU_FLAG_SSE | AV_CPU_FLAG_SSE2;
  for (const int format : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUV444P,
                           AV_PIX_FMT_YUV420P10, AV_PIX_FMT_YUV422P10}) {
    SCOPED_TRACE(av_get_pix_fmt_name(static_cast<AVPixelFormat>(format)));
    const av::Frame frame = testing::MakeFrame({.width = 180, .height = 102, .format = format}, 1);
    for (const auto& [width, height] : {Size{120, 68}, Size{180, 102}, Size{320, 180}}) {
      const FilterSpec spec = SpecOf(*frame, width, height);
      const auto usual = PixelHash(*Once(spec, *frame));
      for (const int flags : {0, kSse2}) {
        av_force_cpu_flags(flags);
        EXPECT_EQ(usual, PixelHash(*Once(spec, *frame))) << width << " " << flags;
        av_force_cpu_flags(normal);
      }
    }
  }
}

// Luma of a grey of that much light, PQ coded: SMPTE ST 2084, in 8-bit steps.
int PqLuma(double nits) {
  const double light = std::pow(nits / 10'000, 0.1593017578125);
  const double code = std::pow((0.8359375 + 18.8515625 * light) / (1 + 18.6875 * light), 78.84375);
  return static_cast<int>(std::lround(16 + 219 * code));
}

TEST(FrameFilter, BringsAHighDynamicRangeIntoEightBits) {
  const auto shown = [](double nits, double peak) {
    const av::Frame frame = MakePlainFrame(64, 36, AV_PIX_FMT_YUV420P10, PqLuma(nits), 128, 128);
    FilterSpec spec = SpecOf(*frame, 64, 36);
    spec.tone_map = {.transfer = AVCOL_TRC_SMPTE2084, .peak = peak};
    const av::Frame out = Once(spec, *frame);
    EXPECT_NEAR(out->data[1][0], 128, 1) << "grey stays grey";
    return LumaAt(*out, 30, 20);
  };
  EXPECT_NEAR(shown(0, 10), 16, 1);
  EXPECT_NEAR(shown(1000, 10), 235, 2) << "the peak is white";
  EXPECT_NEAR(shown(4000, 40), 235, 2) << "whatever the peak";
  int before = 0;
  for (const double nits : {0.0, 1.0, 10.0, 50.0, 100.0, 203.0, 500.0, 1000.0}) {
    EXPECT_GT(shown(nits, 10), before) << nits;
    before = shown(nits, 10);
  }
  EXPECT_GT(shown(100, 10), 120) << "what SDR shows as white is still bright";
}

TEST(FrameFilter, ChangesLightTheSameWarmAsCold) {
  const Scene scene{.width = 180, .height = 102, .format = AV_PIX_FMT_YUV420P10};
  for (const int transfer : {AVCOL_TRC_SMPTE2084, AVCOL_TRC_ARIB_STD_B67}) {
    FilterSpec spec = SpecOf(*testing::MakeFrame(scene, 0), 128, 72);
    spec.tone_map = {.transfer = transfer, .peak = 10};
    const auto warm = Open(spec);
    for (int n = 0; n < 4; ++n) {
      const av::Frame frame = testing::MakeFrame(scene, n);
      av::Frame out = av::NewFrame();
      ASSERT_TRUE(*warm->Filter(frame.get(), *out));
      EXPECT_EQ(PixelHash(*out), PixelHash(*Once(spec, *frame)));
    }
  }
}

// Mean square of the difference of luma.
double ErrorOf(const AVFrame& frame, const AVFrame& truth) {
  double sum = 0;
  for (int y = 0; y < truth.height; ++y) {
    for (int x = 0; x < truth.width; ++x) {
      sum += std::pow(LumaAt(frame, x, y) - LumaAt(truth, x, y), 2);
    }
  }
  return sum / truth.width / truth.height;
}

TEST(FrameFilter, TakesNoiseOut) {
  const auto noisy = [](int noise) { return testing::MakeFrame({.noise = noise}, 3); };
  const av::Frame truth = noisy(0), frame = noisy(16);
  FilterSpec spec = SpecOf(*frame, frame->width, frame->height);
  double before = ErrorOf(*frame, *truth);
  for (const Denoise denoise : {Denoise::kLight, Denoise::kMedium, Denoise::kStrong}) {
    spec.denoise = denoise;
    const double error = ErrorOf(*Once(spec, *frame), *truth);
    EXPECT_LT(error, 0.9 * before) << Name(denoise);
    before = error;
  }
  EXPECT_LT(before, 0.4 * ErrorOf(*frame, *truth));
}

// Nothing of the picture before is left, and nothing depends on the CPU.
TEST(FrameFilter, DenoisesTheSameWarmAsColdAndOnEveryCpu) {
  const int normal = av_get_cpu_flags();
  for (const int format : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P10}) {
    const Scene scene{.width = 180, .height = 102, .format = format, .noise = 16, .cut_every = 2};
    FilterSpec spec = SpecOf(*testing::MakeFrame(scene, 0), 128, 72);
    spec.format = format;
    for (const Denoise denoise : {Denoise::kLight, Denoise::kStrong}) {
      spec.denoise = denoise;
      const auto warm = Open(spec);
      for (int n = 0; n < 5; ++n) {
        const av::Frame frame = testing::MakeFrame(scene, n);
        av::Frame out = av::NewFrame();
        ASSERT_TRUE(*warm->Filter(frame.get(), *out));
        EXPECT_EQ(PixelHash(*out), PixelHash(*Once(spec, *frame))) << n;
        av_force_cpu_flags(0);
        EXPECT_EQ(PixelHash(*out), PixelHash(*Once(spec, *frame))) << n;
        av_force_cpu_flags(normal);
      }
    }
  }
}

// A picture that stands still, with noise of its own.
av::Frame Noisy(int format, int n) {
  av::Frame frame = MakePlainFrame(64, 48, format, 120, 128, 128);
  std::mt19937 random(static_cast<unsigned>(n));
  for (int y = 0; y < frame->height; ++y) {
    for (int x = 0; x < frame->width; ++x) {
      PaintLuma(*frame, x, y, 1, 1, 117 + static_cast<int>(random() % 7));
    }
  }
  frame->pts = n;
  return frame;
}

// All pictures of a run, through a temporal filter and its drain.
std::vector<av::Frame> Filtered(const FilterSpec& spec, int count,
                                const std::function<av::Frame(int)>& make) {
  std::vector<av::Frame> frames;
  const auto filter = Open(spec);
  for (int n = 0;; ++n) {
    const av::Frame frame = n < count ? make(n) : nullptr;
    av::Frame out = av::NewFrame();
    if (*filter->Filter(frame.get(), *out)) {
      frames.push_back(std::move(out));
    } else if (n >= count) {
      return frames;
    }
  }
}

TEST(FrameFilter, TakesNoiseOutBetweenPicturesAndKeepsTheirTimes) {
  constexpr int kPictures = 20;
  for (const int format : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P10}) {
    const av::Frame truth = MakePlainFrame(64, 48, format, 120, 128, 128);
    FilterSpec spec = SpecOf(*truth, truth->width, truth->height);
    spec.format = format;
    double before = ErrorOf(*Noisy(format, 10), *truth);
    for (const Denoise strength : {Denoise::kLight, Denoise::kMedium, Denoise::kStrong}) {
      spec.degrain = strength;
      const auto frames = Filtered(spec, kPictures, [&](int n) { return Noisy(format, n); });
      ASSERT_EQ(frames.size(), std::size_t{kPictures});
      for (int n = 0; n < kPictures; ++n) {
        EXPECT_EQ(frames[static_cast<std::size_t>(n)]->pts, n);
        EXPECT_EQ(frames[static_cast<std::size_t>(n)]->format, format);
      }
      const double error = ErrorOf(*frames[10], *truth);
      EXPECT_LT(error, 0.9 * before) << Name(strength);
      before = error;
    }
    EXPECT_LT(before, 0.3 * ErrorOf(*Noisy(format, 10), *truth));
  }
}

TEST(FrameFilter, DenoisesRunsThatAreShorterThanItLooks) {
  for (const bool interlaced : {false, true}) {
    for (const Denoise strength : {Denoise::kLight, Denoise::kMedium, Denoise::kStrong}) {
      for (int pictures = 1; pictures <= 10; ++pictures) {
        FilterSpec spec = SpecOf(*Noisy(AV_PIX_FMT_YUV420P, 0), 64, 48);
        spec.degrain = strength;
        spec.deinterlace = interlaced ? Deinterlace::kAuto : Deinterlace::kOff;
        const auto frames =
            Filtered(spec, pictures, [](int n) { return Noisy(AV_PIX_FMT_YUV420P, n); });
        ASSERT_EQ(frames.size(), static_cast<std::size_t>(pictures)) << Name(strength);
        for (int n = 0; n < pictures; ++n) EXPECT_EQ(frames[static_cast<std::size_t>(n)]->pts, n);
      }
    }
  }
}

TEST(FrameFilter, DenoisesBetweenPicturesTheSameOnEveryCpu) {
  const int normal = av_get_cpu_flags();
  for (const int format : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV444P10}) {
    const Scene scene{.width = 180, .height = 102, .format = format, .noise = 8, .cut_every = 7};
    FilterSpec spec = SpecOf(*testing::MakeFrame(scene, 0), 180, 102);
    spec.format = format;
    for (const Denoise strength : {Denoise::kLight, Denoise::kMedium, Denoise::kStrong}) {
      spec.degrain = strength;
      const auto make = [&](int n) { return testing::MakeFrame(scene, n); };
      const auto usual = PixelHash(Filtered(spec, 20, make));
      av_force_cpu_flags(0);
      EXPECT_EQ(PixelHash(Filtered(spec, 20, make)), usual) << Name(strength) << format;
      av_force_cpu_flags(normal);
    }
  }
}

TEST(FrameFilter, DeinterlacesTheSameOnEveryCpu) {
  const int normal = av_get_cpu_flags();
  const Scene scene{.width = 96, .height = 64};
  FilterSpec spec = SpecOf(*testing::MakeFrame(scene, 0), 96, 64);
  spec.deinterlace = Deinterlace::kAuto;
  const auto run = [&] {
    std::vector<av::Frame> frames;
    const auto filter = Open(spec);
    for (int n = 0; n <= 6; ++n) {
      av::Frame frame = testing::MakeFrame(scene, n);
      av::MarkInterlaced(*frame, true);
      av::Frame out = av::NewFrame();
      if (*filter->Filter(n < 6 ? frame.get() : nullptr, *out)) frames.push_back(std::move(out));
    }
    return PixelHash(frames);
  };
  const auto usual = run();
  av_force_cpu_flags(0);
  EXPECT_EQ(usual, run());
  av_force_cpu_flags(normal);
}

TEST(FrameFilter, TurnsThePictureUpright) {
  av::Frame frame = MakePlainFrame(64, 32, AV_PIX_FMT_YUV420P, 40, 128, 128);
  PaintLuma(*frame, 0, 0, 16, 16, 200);  // top left
  const auto corner = [&](int rotation, int width, int height) {
    FilterSpec spec = SpecOf(*frame, width, height);
    spec.rotation = rotation;
    const av::Frame out = Once(spec, *frame);
    std::string found;
    if (LumaAt(*out, 4, 4) > 150) found += "top left";
    if (LumaAt(*out, width - 5, 4) > 150) found += "top right";
    if (LumaAt(*out, 4, height - 5) > 150) found += "bottom left";
    if (LumaAt(*out, width - 5, height - 5) > 150) found += "bottom right";
    return found;
  };
  EXPECT_EQ(corner(0, 64, 32), "top left");
  EXPECT_EQ(corner(90, 32, 64), "top right");
  EXPECT_EQ(corner(180, 64, 32), "bottom right");
  EXPECT_EQ(corner(270, 32, 64), "bottom left");
}

TEST(FrameFilter, PadsWithBlackBars) {
  const av::Frame frame = MakePlainFrame(160, 90, AV_PIX_FMT_YUV420P, 120, 90, 200);
  const av::Frame out = Once(SpecOf(*frame, 160, 120, Fit::kPad), *frame);
  EXPECT_EQ(LumaAt(*out, 80, 2), 16);
  EXPECT_EQ(LumaAt(*out, 80, 13), 16);
  EXPECT_EQ(LumaAt(*out, 80, 117), 16);
  EXPECT_EQ(LumaAt(*out, 80, 60), 120);
  EXPECT_EQ(LumaAt(*out, 1, 60), 120);
  EXPECT_EQ(out->data[1][0], 128);
}

// What the container says of pixels is known better, until the stream says another thing than
// before.
TEST(FrameFilter, TakesAnotherSampleAspectFromTheStreamAlone) {
  auto source = std::make_shared<SourceInfo>();
  std::shared_ptr<AVCodecParameters> parameters(
      avcodec_parameters_alloc(), [](AVCodecParameters* p) { avcodec_parameters_free(&p); });
  parameters->sample_aspect_ratio = {16, 15};
  source->video.width = 720;
  source->video.height = 576;
  source->video.sample_aspect = {1, 1};
  source->video.parameters = parameters;
  StreamPlan plan;
  plan.source = source;
  const av::Frame frame = MakePlainFrame(720, 576, AV_PIX_FMT_YUV420P, 120, 128, 128);
  const auto taken = [&](AVRational stated) {
    frame->sample_aspect_ratio = stated;
    return SpatialPart(plan, {720, 576}, AV_PIX_FMT_YUV420P, {}, *frame).in_sample_aspect;
  };
  EXPECT_EQ(taken({16, 15}), (Rational{1, 1})) << "contradicted from the start";
  EXPECT_EQ(taken({32, 30}), (Rational{1, 1}));
  EXPECT_EQ(taken({0, 1}), (Rational{1, 1})) << "nothing is said";
  EXPECT_EQ(taken({64, 45}), (Rational{64, 45})) << "changed";
  // AV1 has none of its own, and its decoder says square of each picture.
  parameters->codec_id = AV_CODEC_ID_AV1;
  parameters->sample_aspect_ratio = {0, 1};
  source->video.sample_aspect = {16, 15};
  EXPECT_EQ(taken({1, 1}), (Rational{16, 15})) << "the container's alone";
  parameters->codec_id = AV_CODEC_ID_FFV1;
  EXPECT_EQ(taken({4, 3}), (Rational{16, 15})) << "FFmpeg tells it of pictures only";
  // Nor has H.264 without a VUI, until its pictures have another shape.
  parameters->codec_id = AV_CODEC_ID_H264;
  EXPECT_EQ(taken({4, 3}), (Rational{4, 3})) << "it says so from here on";
}

// As FFmpeg's own tools take it.
TEST(FrameFilter, TakesGreyOfNoStatedRangeForFull) {
  auto source = std::make_shared<SourceInfo>();
  source->video.width = source->video.height = 64;
  source->video.parameters = std::shared_ptr<AVCodecParameters>(
      avcodec_parameters_alloc(), [](AVCodecParameters* p) { avcodec_parameters_free(&p); });
  StreamPlan plan;
  plan.source = source;
  const auto made = [&](int level, AVColorRange range) {
    const av::Frame frame = NewPicture(64, 64, AV_PIX_FMT_GRAY8).value();
    frame->color_range = range;
    for (int y = 0; y < 64; ++y) {
      std::fill_n(frame->data[0] + std::ptrdiff_t{y} * frame->linesize[0], 64,
                  static_cast<std::uint8_t>(level));
    }
    const OutputColors colors{.range = AVCOL_RANGE_MPEG};
    const FilterSpec spec = SpatialPart(plan, {64, 64}, AV_PIX_FMT_YUV420P, colors, *frame);
    const av::Frame out = Once(spec, *frame);
    EXPECT_EQ(out->data[1][0], 128);
    return LumaAt(*out, 30, 20);
  };
  EXPECT_EQ(made(0, AVCOL_RANGE_UNSPECIFIED), 16);
  EXPECT_EQ(made(255, AVCOL_RANGE_UNSPECIFIED), 235);
  EXPECT_EQ(made(255, AVCOL_RANGE_JPEG), 235);
  EXPECT_EQ(made(235, AVCOL_RANGE_MPEG), 235) << "as it states";
}

// FFmpeg's decoder says BT.601 of each picture, whatever the container does.
TEST(FrameFilter, TakesTheMatrixOfVp8FromTheContainer) {
  auto source = std::make_shared<SourceInfo>();
  std::shared_ptr<AVCodecParameters> parameters(
      avcodec_parameters_alloc(), [](AVCodecParameters* p) { avcodec_parameters_free(&p); });
  source->video.width = 64;
  source->video.height = 36;
  source->video.parameters = parameters;
  StreamPlan plan;
  plan.source = source;
  const av::Frame frame = MakePlainFrame(64, 36, AV_PIX_FMT_YUV420P, 120, 128, 128);
  frame->colorspace = AVCOL_SPC_BT470BG;
  const auto taken = [&](AVCodecID codec, AVColorSpace stated) {
    parameters->codec_id = codec;
    parameters->color_space = stated;
    return SpatialPart(plan, {64, 36}, AV_PIX_FMT_YUV420P, {}, *frame).in_color_space;
  };
  EXPECT_EQ(taken(AV_CODEC_ID_VP8, AVCOL_SPC_BT709), AVCOL_SPC_BT709);
  EXPECT_EQ(taken(AV_CODEC_ID_VP8, AVCOL_SPC_UNSPECIFIED), AVCOL_SPC_BT470BG);
  EXPECT_EQ(taken(AV_CODEC_ID_H264, AVCOL_SPC_BT709), AVCOL_SPC_BT470BG) << "another recording";
}

// Set up for 16:9, and a picture of 9:16 comes; of anamorphic pixels, of the source or the output.
TEST(FrameFilter, KeepsTheShapeOfPicturesThatWereNotExpected) {
  const av::Frame wide = MakePlainFrame(320, 180, AV_PIX_FMT_YUV420P, 120, 128, 128);
  const av::Frame tall = MakePlainFrame(180, 320, AV_PIX_FMT_YUV420P, 120, 128, 128);
  FilterSpec spec = SpecOf(*wide, 160, 90);
  KeepShape(spec, {1, 1});
  EXPECT_EQ(spec, SpecOf(*wide, 160, 90)) << "what was expected";
  spec = SpecOf(*tall, 160, 90);
  KeepShape(spec, {1, 1});
  const av::Frame out = Once(spec, *tall);
  EXPECT_EQ(LumaAt(*out, 50, 45), 16);
  EXPECT_EQ(LumaAt(*out, 80, 45), 120);
  EXPECT_EQ(LumaAt(*out, 110, 45), 16);
  EXPECT_EQ(LumaAt(*out, 80, 1), 120) << "all of its height";
  for (const Fit fit : {Fit::kStretch, Fit::kCrop, Fit::kPad}) {
    spec = SpecOf(*tall, 160, 90, fit);
    KeepShape(spec, {1, 1});
    EXPECT_EQ(spec, SpecOf(*tall, 160, 90, fit)) << "as was asked for";
  }
  // 720x576 shown as 16:9 fills an output of the same pixels, and of square ones.
  const av::Frame dv = MakePlainFrame(720, 576, AV_PIX_FMT_YUV420P, 120, 128, 128);
  spec = SpecOf(*dv, 720, 576);
  spec.in_sample_aspect = {64, 45};
  KeepShape(spec, {64, 45});
  EXPECT_EQ(spec.fit, Fit::kFit);
  spec.width = 1024;
  KeepShape(spec, {1, 1});
  EXPECT_EQ(spec.fit, Fit::kFit);
  spec.rotation = 90;
  KeepShape(spec, {1, 1});
  EXPECT_EQ(spec.fit, Fit::kPad);
}

TEST(FrameFilter, PadsFullRangeWithItsOwnBlack) {
  for (const AVPixelFormat format : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P10}) {
    const av::Frame frame = MakePlainFrame(160, 90, format, 120, 90, 200);
    FilterSpec spec = SpecOf(*frame, 160, 120, Fit::kPad);
    spec.format = format;
    spec.in_color_range = AVCOL_RANGE_JPEG;
    const av::Frame bars_above = Once(spec, *frame);
    for (const int y : {0, 13, 104, 119}) EXPECT_EQ(LumaAt(*bars_above, 80, y), 0) << y;
    for (const int y : {14, 103}) EXPECT_EQ(LumaAt(*bars_above, 80, y), 120) << y;
    spec.width = 200;
    spec.height = 90;
    const av::Frame bars_beside = Once(spec, *frame);
    for (const int x : {0, 19, 180, 199}) EXPECT_EQ(LumaAt(*bars_beside, x, 45), 0) << x;
    for (const int x : {20, 179}) EXPECT_EQ(LumaAt(*bars_beside, x, 45), 120) << x;
  }
}

TEST(Picture, IsPaintedBlackInItsRange) {
  for (const AVPixelFormat format : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P10}) {
    const av::Frame frame = MakePlainFrame(64, 32, format, 120, 90, 200);
    PaintBlack(*frame, AVCOL_RANGE_JPEG);
    EXPECT_EQ(LumaAt(*frame, 10, 10), 0);
    PaintBlack(*frame, AVCOL_RANGE_UNSPECIFIED);
    EXPECT_EQ(LumaAt(*frame, 10, 10), 16);
    PaintBlack(*frame, AVCOL_RANGE_MPEG);
    EXPECT_EQ(LumaAt(*frame, 63, 31), 16);
  }
}

TEST(FrameFilter, ReadsFullRangeBeforeItIsToneMapped) {
  const auto mapped = [](int luma, AVColorRange range) {
    const av::Frame frame = MakePlainFrame(64, 64, AV_PIX_FMT_YUV420P10, luma, 128, 128);
    FilterSpec spec = SpecOf(*frame, 32, 32);
    spec.in_color_range = range;
    spec.in_color_space = AVCOL_SPC_BT2020_NCL;
    spec.tone_map = {.transfer = AVCOL_TRC_ARIB_STD_B67, .peak = 10};
    return LumaAt(*Once(spec, *frame), 16, 16);
  };
  // The same light in both ranges.
  for (const int luma : {16, 60, 126, 180, 235}) {
    const int full = static_cast<int>(std::lround((luma - 16) * 255.0 / 219));
    EXPECT_NEAR(mapped(full, AVCOL_RANGE_JPEG), mapped(luma, AVCOL_RANGE_MPEG), 1) << luma;
  }
}

// The wider the primaries, the stronger the colour that the same numbers mean.
TEST(FrameFilter, ToneMapsByThePrimariesAndTheMatrixThatAreStated) {
  const auto mapped = [](int primaries, int matrix) {
    const av::Frame frame = MakePlainFrame(64, 64, AV_PIX_FMT_YUV420P10, 110, 120, 140);
    FilterSpec spec = SpecOf(*frame, 32, 32);
    spec.tone_map = {
        .transfer = AVCOL_TRC_SMPTE2084, .peak = 10, .primaries = primaries, .matrix = matrix};
    const av::Frame out = Once(spec, *frame);
    return std::array<int, 3>{out->data[0][0], out->data[1][0], out->data[2][0]};
  };
  const auto narrow = mapped(AVCOL_PRI_BT709, AVCOL_SPC_BT2020_NCL);
  const auto middle = mapped(AVCOL_PRI_SMPTE432, AVCOL_SPC_BT2020_NCL);
  const auto wide = mapped(AVCOL_PRI_BT2020, AVCOL_SPC_BT2020_NCL);
  EXPECT_LT(narrow[2] + 2, middle[2]);
  EXPECT_LT(middle[2] + 2, wide[2]);
  EXPECT_NE(mapped(AVCOL_PRI_BT2020, AVCOL_SPC_BT709), wide);
}

TEST(ToneMap, IsOfWhatTheSourceStatesAndZscaleKnows) {
  const std::shared_ptr<AVCodecParameters> parameters(
      avcodec_parameters_alloc(), [](AVCodecParameters* p) { avcodec_parameters_free(&p); });
  VideoInfo video;
  video.parameters = parameters;
  parameters->color_trc = AVCOL_TRC_SMPTE2084;
  const av::Frame frame = MakePlainFrame(64, 64, AV_PIX_FMT_YUV420P10, 110, 120, 140);
  FilterSpec spec = SpecOf(*frame, 32, 32);
  spec.format = AV_PIX_FMT_YUV420P;
  for (int stated = 0; stated < AVCOL_PRI_NB; ++stated) {
    parameters->color_primaries = static_cast<AVColorPrimaries>(stated);
    parameters->color_space = static_cast<AVColorSpace>(std::min<int>(stated, AVCOL_SPC_NB - 1));
    spec.tone_map = ToneMapFor(video, AV_PIX_FMT_YUV420P);
    EXPECT_NE(Once(spec, *frame), nullptr) << stated << ": whatever is stated";
  }
  parameters->color_primaries = AVCOL_PRI_SMPTE432;
  parameters->color_space = AVCOL_SPC_BT709;
  spec.tone_map = ToneMapFor(video, AV_PIX_FMT_YUV420P);
  EXPECT_EQ(spec.tone_map.primaries, AVCOL_PRI_SMPTE432);
  EXPECT_EQ(spec.tone_map.matrix, AVCOL_SPC_BT709);
  parameters->color_primaries = AVCOL_PRI_UNSPECIFIED;
  parameters->color_space = AVCOL_SPC_RGB;
  spec.tone_map = ToneMapFor(video, AV_PIX_FMT_YUV420P);
  EXPECT_EQ(spec.tone_map.primaries, AVCOL_PRI_BT2020);
  EXPECT_EQ(spec.tone_map.matrix, AVCOL_SPC_BT2020_NCL);
}

// The same colour, as RGB and as its own matrix has it (ITU-R BT.2020).
TEST(FrameFilter, ToneMapsRgbByTheMatrixOfHighRanges) {
  const auto mapped = [](int format, int first, int second, int third) {
    const av::Frame frame = MakePlainFrame(64, 64, format, first, second, third);
    FilterSpec spec = SpecOf(*frame, 32, 32);
    spec.tone_map = {.transfer = AVCOL_TRC_SMPTE2084, .peak = 10};
    const av::Frame out = Once(spec, *frame);
    return std::array<int, 3>{out->data[0][0], out->data[1][0], out->data[2][0]};
  };
  constexpr double kRed = 20, kGreen = 150, kBlue = 150;
  constexpr double kLuma = 0.2627 * kRed + 0.678 * kGreen + 0.0593 * kBlue;
  const auto coded = [](double value, double span, double zero) {
    return static_cast<int>(std::lround(value * span / 255 + zero));
  };
  const auto rgb = mapped(AV_PIX_FMT_GBRP10, kGreen, kBlue, kRed);
  const auto yuv =
      mapped(AV_PIX_FMT_YUV420P10, coded(kLuma, 219, 16), coded((kBlue - kLuma) / 1.8814, 224, 128),
             coded((kRed - kLuma) / 1.4746, 224, 128));
  for (std::size_t plane = 0; plane < 3; ++plane) EXPECT_NEAR(rgb[plane], yuv[plane], 2) << plane;
}

TEST(FrameFilter, MakesLimitedRangeWhereItIsWanted) {
  for (const int size : {64, 32}) {
    av::Frame frame = MakePlainFrame(64, 64, AV_PIX_FMT_YUV420P, 255, 128, 128);
    PaintLuma(*frame, 0, 0, 32, 64, 0);
    FilterSpec spec = SpecOf(*frame, size, size);
    spec.in_color_range = AVCOL_RANGE_JPEG;
    spec.colors.range = AVCOL_RANGE_MPEG;
    const av::Frame out = Once(spec, *frame);
    EXPECT_EQ(LumaAt(*out, size / 4, 8), 16);
    EXPECT_EQ(LumaAt(*out, 3 * size / 4, 8), 235);
    EXPECT_FALSE(MakesFullRange(spec));
  }
}

// A colour of 8-bit RGB as a matrix with these weights has it.
std::array<int, 3> Coded(std::array<double, 3> rgb, double of_red, double of_blue, bool full) {
  const double luma = of_red * rgb[0] + (1 - of_red - of_blue) * rgb[1] + of_blue * rgb[2];
  const double y = full ? luma : 16 + luma * 219 / 255;
  const double chroma = full ? 1 : 224.0 / 255;
  const auto round = [](double value) { return static_cast<int>(std::lround(value)); };
  return {round(y), round(128 + chroma * (rgb[2] - luma) / (2 * (1 - of_blue))),
          round(128 + chroma * (rgb[0] - luma) / (2 * (1 - of_red)))};
}

// In 8-bit steps.
int SampleAt(const AVFrame& frame, std::size_t plane, int x, int y) {
  const std::uint8_t* row = frame.data[plane] + std::ptrdiff_t{y} * frame.linesize[plane];
  if (frame.format != AV_PIX_FMT_YUV420P10) return row[x];
  return reinterpret_cast<const std::uint16_t*>(row)[x] / 4;
}

// Of recordings that were joined the header describes the first.
TEST(FrameFilter, ConvertsToTheColoursThatTheOutputStates) {
  constexpr std::array<double, 3> kColour{180, 90, 40};
  const struct {
    AVColorSpace space;
    double red, blue;
  } matrices[] = {{AVCOL_SPC_SMPTE170M, 0.299, 0.114}, {AVCOL_SPC_BT709, 0.2126, 0.0722}};
  for (const auto& from : matrices) {
    for (const auto& to : matrices) {
      for (const bool was_full : {false, true}) {
        for (const bool full : {false, true}) {
          for (const int format : {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P10}) {
            for (const int size : {64, 32}) {
              const auto [y, u, v] = Coded(kColour, from.red, from.blue, was_full);
              const av::Frame frame = MakePlainFrame(64, 64, format, y, u, v);
              frame->colorspace = from.space;
              frame->color_range = was_full ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
              FilterSpec spec = SpecOf(*frame, size, size);
              spec.in_color_space = from.space;
              spec.in_color_range = frame->color_range;
              spec.colors = {.range = full ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG,
                             .matrix = to.space};
              const av::Frame out = Once(spec, *frame);
              const auto wanted = Coded(kColour, to.red, to.blue, full);
              for (std::size_t plane = 0; plane < 3; ++plane) {
                EXPECT_NEAR(SampleAt(*out, plane, 8, 8), wanted[plane], 2)
                    << "plane " << plane << " of " << format << ", " << from.space << " to "
                    << to.space << ", full " << was_full << full << ", to " << size;
              }
              EXPECT_EQ(MakesFullRange(spec), full);
              EXPECT_EQ(MatrixMade(spec), to.space);
            }
          }
        }
      }
    }
  }
}

TEST(FrameFilter, LeavesAMatrixThatNobodyStates) {
  const av::Frame frame = MakePlainFrame(64, 64, AV_PIX_FMT_YUV420P, 120, 90, 200);
  FilterSpec spec = SpecOf(*frame, 64, 64);
  for (const auto& [from, to] : {std::pair{AVCOL_SPC_UNSPECIFIED, AVCOL_SPC_BT709},
                                 std::pair{AVCOL_SPC_BT709, AVCOL_SPC_UNSPECIFIED},
                                 std::pair{AVCOL_SPC_YCGCO, AVCOL_SPC_BT709},
                                 std::pair{AVCOL_SPC_BT470BG, AVCOL_SPC_SMPTE170M}}) {
    spec.in_color_space = from;
    spec.colors.matrix = to;
    const av::Frame out = Once(spec, *frame);
    EXPECT_EQ(out->data[0], frame->data[0]) << "from " << from << " to " << to;
    EXPECT_EQ(MatrixMade(spec), from);
  }
}

TEST(FrameFilter, KeepsFullRangeValues) {
  av::Frame frame = MakePlainFrame(64, 64, AV_PIX_FMT_YUVJ420P, 250, 128, 128);
  FilterSpec spec = SpecOf(*frame, 32, 32);
  spec.in_color_range = AVCOL_RANGE_JPEG;
  EXPECT_EQ(LumaAt(*Once(spec, *frame), 16, 16), 250);
}

TEST(FrameFilter, CropsTheCentre) {
  av::Frame frame = MakePlainFrame(160, 80, AV_PIX_FMT_YUV420P, 100, 128, 128);
  PaintLuma(*frame, 0, 0, 30, 80, 200);    // cut away
  PaintLuma(*frame, 130, 0, 30, 80, 200);  // cut away
  const av::Frame out = Once(SpecOf(*frame, 80, 80, Fit::kCrop), *frame);
  EXPECT_EQ(LumaAt(*out, 2, 40), 100);
  EXPECT_EQ(LumaAt(*out, 77, 40), 100);
}

TEST(FrameFilter, DithersTenBitsToEight) {
  // A level between two 8-bit ones: dithering shows both, rounding only one.
  av::Frame frame = MakePlainFrame(64, 64, AV_PIX_FMT_YUV420P10, 100, 128, 128);
  for (int y = 0; y < 64; ++y) {
    auto* row = reinterpret_cast<std::uint16_t*>(frame->data[0] + y * frame->linesize[0]);
    for (int x = 0; x < 64; ++x) row[x] = 402;
  }
  const av::Frame out = Once(SpecOf(*frame, 64, 64), *frame);
  bool low = false;
  bool high = false;
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 64; ++x) {
      low = low || LumaAt(*out, x, y) == 100;
      high = high || LumaAt(*out, x, y) == 101;
    }
  }
  EXPECT_TRUE(low && high);
}

TEST(FrameFilter, DeinterlacingKeepsTheFrameCountAndTheTimes) {
  const Scene scene{.width = 96, .height = 64};
  FilterSpec spec = SpecOf(*testing::MakeFrame(scene, 0), 48, 32);
  spec.deinterlace = Deinterlace::kAuto;
  const auto filter = Open(spec);
  EXPECT_TRUE(filter->spec().temporal());
  std::vector<std::int64_t> pts;
  av::Frame out = av::NewFrame();
  for (int n = 0; n < 9; ++n) {
    av::Frame frame = testing::MakeFrame(scene, n);
    frame->pts = 1000 + 40 * n;
    av::MarkInterlaced(*frame, true);
    if (*filter->Filter(frame.get(), *out)) pts.push_back(out->pts);
  }
  while (*filter->Filter(nullptr, *out)) pts.push_back(out->pts);
  ASSERT_EQ(pts.size(), 9U);
  for (std::size_t n = 0; n < pts.size(); ++n) {
    EXPECT_EQ(pts[n], 1000 + 40 * static_cast<std::int64_t>(n));
  }
}

TEST(FrameFilter, RefusesAFrameOfAnotherSize) {
  const av::Frame frame = testing::MakeFrame({.width = 64, .height = 64}, 0);
  const auto filter = Open(SpecOf(*frame, 32, 32));
  const av::Frame other = testing::MakeFrame({.width = 66, .height = 64}, 0);
  av::Frame out = av::NewFrame();
  EXPECT_FALSE(filter->Filter(other.get(), *out).ok());
}

// --- geometry ---------------------------------------------------------------------------------

TEST(Geometry, FitAndStretchFillTheOutput) {
  for (const Fit fit : {Fit::kFit, Fit::kStretch}) {
    const Placement place = PlacePicture({720, 576}, {16, 15}, {640, 480}, fit);
    EXPECT_EQ(place, (Placement{.crop = {720, 576}, .scaled = {640, 480}}));
  }
}

TEST(Geometry, CropKeepsTheDisplayAspect) {
  EXPECT_EQ(PlacePicture({1920, 1080}, {1, 1}, {720, 720}, Fit::kCrop),
            (Placement{.crop_x = 420, .crop = {1080, 1080}, .scaled = {720, 720}}));
  EXPECT_EQ(PlacePicture({720, 576}, {64, 45}, {640, 480}, Fit::kCrop),  // 16:9 to 4:3
            (Placement{.crop_x = 90, .crop = {540, 576}, .scaled = {640, 480}}));
  EXPECT_EQ(PlacePicture({640, 480}, {1, 1}, {640, 360}, Fit::kCrop),
            (Placement{.crop_y = 60, .crop = {640, 360}, .scaled = {640, 360}}));
}

TEST(Geometry, PadKeepsTheDisplayAspectWithEvenNumbers) {
  EXPECT_EQ(PlacePicture({1920, 1080}, {1, 1}, {640, 480}, Fit::kPad),
            (Placement{.crop = {1920, 1080}, .scaled = {640, 360}, .pad_y = 60}));
  EXPECT_EQ(PlacePicture({640, 480}, {1, 1}, {1280, 720}, Fit::kPad),
            (Placement{.crop = {640, 480}, .scaled = {960, 720}, .pad_x = 160}));
  const Placement odd = PlacePicture({853, 480}, {1, 1}, {500, 402}, Fit::kPad);
  EXPECT_EQ(odd.scaled.height % 2, 0);
  EXPECT_EQ(odd.pad_y % 2, 0);
}

TEST(Geometry, SampleAspectIsSquareWhereTheSizeFits) {
  EXPECT_EQ(OutputSampleAspect({854, 480}, {1, 1}, {640, 360}, Fit::kFit), (Rational{1, 1}));
  EXPECT_EQ(OutputSampleAspect({720, 576}, {16, 15}, {768, 576}, Fit::kFit), (Rational{1, 1}));
  EXPECT_EQ(OutputSampleAspect({720, 576}, {16, 15}, {720, 576}, Fit::kFit), (Rational{16, 15}));
  EXPECT_EQ(OutputSampleAspect({720, 576}, {16, 15}, {720, 576}, Fit::kStretch), (Rational{1, 1}));
}

TEST(Geometry, SampleAspectsThatNoPlayerShowsStayInBounds) {
  EXPECT_EQ(av::AspectFromAv({64, 45}), (Rational{64, 45}));
  EXPECT_EQ(av::AspectFromAv({2 * 65'535, 2 * 65'534}), (Rational{65'535, 65'534}));
  EXPECT_EQ(av::AspectFromAv({0, 1}), (Rational{1, 1}));
  EXPECT_EQ(av::AspectFromAv({2'147'483'647, 1}), (Rational{65'535, 1}));
  EXPECT_EQ(av::AspectFromAv({1, 2'147'483'647}), (Rational{1, 65'535}));
  // As YUV4MPEG2 may tell it.
  const Rational odd = av::AspectFromAv({2'147'483'647, 2'000'003});
  EXPECT_NEAR(odd.ToDouble(), 2'147'483'647. / 2'000'003, 0.01);
  const Size source{1919, 1079}, output{853, 479};
  for (const Rational aspect : {odd, odd.Inverse(), Rational{65'535, 1}, Rational{1, 65'535}}) {
    const Rational made = OutputSampleAspect(source, aspect, output, Fit::kFit);
    ASSERT_TRUE(made.positive());
    EXPECT_LE(std::max(made.num, made.den), INT32_MAX);
    FilterSpec spec{.in_width = source.width, .in_height = source.height, .fit = Fit::kFit};
    spec.width = output.width;
    spec.height = output.height;
    spec.in_sample_aspect = aspect;
    KeepShape(spec, made.Inverse());
    EXPECT_EQ(spec.fit, Fit::kPad);
    EXPECT_LE(std::max(spec.in_sample_aspect.num, spec.in_sample_aspect.den), INT32_MAX);
    const Placement place = PlacePicture(source, spec.in_sample_aspect, output, Fit::kPad);
    EXPECT_TRUE(place.scaled.width == 2 || place.scaled.height == 2);
    const Rectangle canvas = PlaceCanvas({}, false,
                                         {.area = {.width = 853, .height = 479},
                                          .sample_aspect = made.Inverse(),
                                          .source = source,
                                          .source_sample_aspect = aspect});
    EXPECT_GT(canvas.width, 0);
    EXPECT_GT(canvas.height, 0);
  }
}

}  // namespace
}  // namespace gopmill
