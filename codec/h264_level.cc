// SPDX-License-Identifier: Apache-2.0
#include "codec/h264_level.h"

#include <algorithm>
#include <array>

namespace gopmill {
namespace {

// ITU-T H.264 table A-1. Rates in 1,000 bits for the Main profile.
struct Limits {
  int level_idc;
  std::int64_t macroblocks_per_second, macroblocks, macroblocks_held, kilobits_per_second, kilobits;
};
constexpr std::array kLevels = std::to_array<Limits>({
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

// How much more than the table a profile may use, in quarters.
std::int64_t RateQuarters(Profile profile) {
  if (profile == Profile::kBaseline || profile == Profile::kMain) return 4;
  return profile == Profile::kHigh10 ? 12 : 5;
}

// The rate to plan for: a cap where there is one, else room for units above the mean.
std::int64_t PeakRate(const EncoderSpec& spec) {
  if (spec.maxrate > 0) return spec.maxrate;
  return spec.rate_mode == RateMode::kBitrate ? 2 * spec.nominal_bps : 0;
}

}  // namespace

int H264Level(const EncoderSpec& spec) {
  const std::int64_t columns = (spec.width + 15) / 16;
  const std::int64_t rows = (spec.height + 15) / 16;
  const std::int64_t size = columns * rows;
  const std::int64_t quarters = RateQuarters(spec.profile);
  const auto fits = [&](const Limits& limits) {
    const std::int64_t longest = std::max(columns, rows);
    return size <= limits.macroblocks && longest * longest <= 8 * limits.macroblocks &&
           size * spec.fps.num <= limits.macroblocks_per_second * spec.fps.den &&
           size * PicturesHeld(spec.preset) <= limits.macroblocks_held &&
           4 * PeakRate(spec) <= limits.kilobits_per_second * 1000 * quarters &&
           4 * spec.bufsize <= limits.kilobits * 1000 * quarters;
  };
  const auto* found = std::find_if(kLevels.begin(), kLevels.end(), fits);
  return found == kLevels.end() ? kLevels.back().level_idc : found->level_idc;
}

}  // namespace gopmill
