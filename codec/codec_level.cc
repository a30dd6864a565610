// SPDX-License-Identifier: Apache-2.0
#include "codec/codec_level.h"

#include <algorithm>
#include <array>

namespace gopmill {
namespace {

// ITU-T H.264 table A-1. Rates in 1,000 bits for the Main profile.
struct H264Limits {
  int level_idc;
  std::int64_t macroblocks_per_second, macroblocks, macroblocks_held, kilobits_per_second, kilobits;
};
constexpr std::array kH264Levels = std::to_array<H264Limits>({
    {10, 1'485, 99, 396, 64, 175},
    {11, 3'000, 396, 900, 192, 500},
    {12, 6'000, 396, 2'376, 384, 1'000},
    {13, 11'880, 396, 2'376, 768, 2'000},
    {20, 11'880, 396, 2'376, 2'000, 2'000},
    {21, 19'800, 792, 4'752, 4'000, 4'000},
    {22, 20'250, 1'620, 8'100, 4'000, 4'000},
    {30, 40'500, 1'620, 8'100, 10'000, 10'000},
    {31, 108'000, 3'600, 18'000, 14'000, 14'000},
    {32, 216'000, 5'120, 20'480, 20'000, 20'000},
    {40, 245'760, 8'192, 32'768, 20'000, 25'000},
    {41, 245'760, 8'192, 32'768, 50'000, 62'500},
    {42, 522'240, 8'704, 34'816, 50'000, 62'500},
    {50, 589'824, 22'080, 110'400, 135'000, 135'000},
    {51, 983'040, 36'864, 184'320, 240'000, 240'000},
    {52, 2'073'600, 36'864, 184'320, 240'000, 240'000},
    {60, 4'177'920, 139'264, 696'320, 240'000, 240'000},
    {61, 8'355'840, 139'264, 696'320, 480'000, 480'000},
    {62, 16'711'680, 139'264, 696'320, 800'000, 800'000},
});

// ITU-T H.265 tables A.8 and A.9, Main tier. The High tier is not used: few players take it, and
// x265 would choose between the two by the rate of each unit, which its parameter sets show.
struct HevcLimits {
  int level;  // times ten
  std::int64_t pixels, pixels_per_second, kilobits_per_second;
};
constexpr std::array kHevcLevels = std::to_array<HevcLimits>({
    {10, 36'864, 552'960, 128},
    {20, 122'880, 3'686'400, 1'500},
    {21, 245'760, 7'372'800, 3'000},
    {30, 552'960, 16'588'800, 6'000},
    {31, 983'040, 33'177'600, 10'000},
    {40, 2'228'224, 66'846'720, 12'000},
    {41, 2'228'224, 133'693'440, 20'000},
    {50, 8'912'896, 267'386'880, 25'000},
    {51, 8'912'896, 534'773'760, 40'000},
    {52, 8'912'896, 1'069'547'520, 60'000},
    {60, 35'651'584, 1'069'547'520, 60'000},
    {61, 35'651'584, 2'139'095'040, 120'000},
    {62, 35'651'584, 4'278'190'080, 240'000},
});

// Reference pictures of x264's presets; with its B pyramid at least four pictures are held.
std::int64_t PicturesHeld(Preset preset) {
  switch (preset) {
    case Preset::kUltrafast: return 1;
    case Preset::kSlow: return 5;
    case Preset::kSlower: return 8;
    case Preset::kVeryslow: return 16;
    case Preset::kSuperfast:
    case Preset::kVeryfast:
    case Preset::kFaster:
    case Preset::kFast:
    case Preset::kMedium: break;
  }
  return 4;
}

// How much more than the table a profile may use, in quarters. x264 writes the lowest profile that
// has the tools it uses: with ultrafast, which has none of those of High, that is Baseline.
std::int64_t RateQuarters(const EncoderSpec& spec) {
  if (spec.profile == Profile::kHigh10) return 12;
  const bool less = spec.profile == Profile::kBaseline || spec.profile == Profile::kMain;
  return less || spec.preset == Preset::kUltrafast ? 4 : 5;
}

// The rate to plan for: a cap where there is one, else room for units above the mean.
std::int64_t PeakRate(const EncoderSpec& spec) {
  if (spec.level_bps > 0) return spec.level_bps;
  if (spec.maxrate > 0) return spec.maxrate;
  if (spec.rate_mode != RateMode::kBitrate) return 0;
  return 2 * spec.nominal_bps;
}

const H264Limits& LimitsOfH264(const EncoderSpec& spec) {
  const std::int64_t columns = (spec.width + 15) / 16;
  const std::int64_t rows = (spec.height + 15) / 16;
  const std::int64_t size = columns * rows;
  const std::int64_t quarters = RateQuarters(spec);
  const auto fits = [&](const H264Limits& limits) {
    const std::int64_t longest = std::max(columns, rows);
    return size <= limits.macroblocks && longest * longest <= 8 * limits.macroblocks &&
           size * spec.fps.num <= limits.macroblocks_per_second * spec.fps.den &&
           size * PicturesHeld(spec.preset) <= limits.macroblocks_held &&
           4 * PeakRate(spec) <= limits.kilobits_per_second * 1000 * quarters &&
           4 * spec.bufsize <= limits.kilobits * 1000 * quarters;
  };
  const auto* found = std::find_if(kH264Levels.begin(), kH264Levels.end(), fits);
  return found == kH264Levels.end() ? kH264Levels.back() : *found;
}

const HevcLimits& LimitsOfHevc(const EncoderSpec& spec) {
  const std::int64_t pixels = std::int64_t{spec.width} * spec.height;
  // Without a cap a unit is one stretch of constant rate, and should be able to hold two seconds of
  // it. From level 4 on one is enough: the next level would cost more players than it gains.
  constexpr int kRoomy = 40;
  const auto fits = [&](const HevcLimits& limits) {
    const std::int64_t longest = std::max(spec.width, spec.height);
    return pixels <= limits.pixels && longest * longest <= 8 * limits.pixels &&
           pixels * spec.fps.num <= limits.pixels_per_second * spec.fps.den &&
           std::max((limits.level < kRoomy ? 2 : 1) * PeakRate(spec), spec.bufsize) <=
               limits.kilobits_per_second * 1000;
  };
  const auto* found = std::find_if(kHevcLevels.begin(), kHevcLevels.end(), fits);
  return found == kHevcLevels.end() ? kHevcLevels.back() : *found;
}

}  // namespace

int H264Level(const EncoderSpec& spec) { return LimitsOfH264(spec).level_idc; }
int HevcLevel(const EncoderSpec& spec) { return LimitsOfHevc(spec).level; }

std::int64_t LevelRate(const EncoderSpec& spec) {
  switch (spec.codec) {
    case VideoCodec::kH264:
      return LimitsOfH264(spec).kilobits_per_second * 1000 * RateQuarters(spec) / 4;
    case VideoCodec::kHevc: return LimitsOfHevc(spec).kilobits_per_second * 1000;
    case VideoCodec::kAv1:
    case VideoCodec::kVp9:
    case VideoCodec::kMpeg4: break;
  }
  return 0;
}

}  // namespace gopmill
