// SPDX-License-Identifier: Apache-2.0
#include "codec/picture_activity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>

#include "codec/picture.h"

namespace gopmill {
namespace {

constexpr int kGrainWidth = 320, kGrainHeight = 240;
using Pixel = std::function<int(int x, int y)>;

av::Frame Painted(const Pixel& pixel, AVPixelFormat format = AV_PIX_FMT_YUV420P) {
  auto frame = NewPicture(kGrainWidth, kGrainHeight, format);
  EXPECT_TRUE(frame.ok());
  for (int y = 0; y < kGrainHeight; ++y) {
    std::uint8_t* row = (*frame)->data[0] + std::ptrdiff_t{y} * (*frame)->linesize[0];
    for (int x = 0; x < kGrainWidth; ++x) {
      if (format == AV_PIX_FMT_YUV420P) {
        row[x] = static_cast<std::uint8_t>(pixel(x, y));
      } else {
        reinterpret_cast<std::uint16_t*>(row)[x] = static_cast<std::uint16_t>(4 * pixel(x, y));
      }
    }
  }
  return *std::move(frame);
}

// Of a standard deviation of about 4.9, another one for each seed.
Pixel Grain(unsigned seed, Pixel of) {
  auto random = std::make_shared<std::minstd_rand>(seed);
  return [random, of = std::move(of)](int x, int y) {
    const auto noise = static_cast<int>((*random)() % 17U) - 8;
    return of(x, y) + noise;
  };
}

int Grey(int /*x*/, int /*y*/) { return 128; }
int Waves(int x, int y) {
  return 128 + static_cast<int>(std::lround(40 * std::sin(0.15 * x + 0.1 * y)));
}
int Moved(int x, int y) { return Waves(x + 3, y); }

TEST(ChangeBetween, TellsNoiseFromMovement) {
  const PictureChange grain = ChangeBetween(*Painted(Grain(1, Grey)), *Painted(Grain(2, Grey)));
  EXPECT_NEAR(grain.noise, 5.8, 0.6) << "1.6 deviations in the mean, less in the calmest parts";
  EXPECT_EQ(grain.noisy, 1);
  const PictureChange moved = ChangeBetween(*Painted(Waves), *Painted(Moved));
  EXPECT_GT(moved.mean, 10);
  EXPECT_LT(moved.noise, 0.2 * moved.mean);
  const PictureChange both = ChangeBetween(*Painted(Grain(1, Waves)), *Painted(Grain(2, Moved)));
  EXPECT_NEAR(both.noise, grain.noise, 0.25 * grain.noise);
}

TEST(ChangeBetween, IsTheSameInTenBits) {
  const auto depth = AV_PIX_FMT_YUV420P10LE;
  const PictureChange eight = ChangeBetween(*Painted(Grain(1, Waves)), *Painted(Grain(2, Moved)));
  const PictureChange ten =
      ChangeBetween(*Painted(Grain(1, Waves), depth), *Painted(Grain(2, Moved), depth));
  EXPECT_DOUBLE_EQ(ten.mean, eight.mean);
  EXPECT_DOUBLE_EQ(ten.noise, eight.noise);
  EXPECT_DOUBLE_EQ(SpatialActivity(*Painted(Waves, depth)), SpatialActivity(*Painted(Waves)));
}

// Bars above and below do not hide the grain of a film; a title over a still picture is none.
TEST(ChangeBetween, LooksAtWhatChanges) {
  const auto within = [](int lines, Pixel of) -> Pixel {
    return [lines, of = std::move(of)](int x, int y) { return y < lines ? of(x, y) : 16; };
  };
  const auto change = [&](int lines) {
    return ChangeBetween(*Painted(within(lines, Grain(1, Grey))),
                         *Painted(within(lines, Grain(2, Grey))));
  };
  EXPECT_NEAR(change(180).noise, change(kGrainHeight).noise, 0.5);
  EXPECT_NEAR(change(180).noisy, 0.75, 0.02);
  EXPECT_EQ(change(100).noisy, 0);
  EXPECT_EQ(ChangeBetween(*Painted(Grey), *Painted(Grey)).noisy, 0);
}

}  // namespace
}  // namespace gopmill
