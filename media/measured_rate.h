// SPDX-License-Identifier: Apache-2.0
//
// The rate at which a file shows its pictures where the container does not tell one that counts: it
// states a mean (cameras, phones, captures of a screen: 26.57 a second, say, of a movie that shows
// 15 to 60), or one that its own times do not keep. Made at the mean, a movie would lose pictures
// wherever it is faster than that.
//
// Thread-safety: safe (pure functions, and reads of the descriptor given).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "base/rational.h"
#include "media/av_ptr.h"

namespace gopmill {

// Rates that cameras and encoders use, ascending.
inline constexpr std::array<Rational, 15> kUsualRates{{{5, 1},
                                                       {10, 1},
                                                       {12, 1},
                                                       {15'000, 1001},
                                                       {15, 1},
                                                       {20, 1},
                                                       {24'000, 1001},
                                                       {24, 1},
                                                       {25, 1},
                                                       {30'000, 1001},
                                                       {30, 1},
                                                       {48, 1},
                                                       {50, 1},
                                                       {60'000, 1001},
                                                       {60, 1}}};

// Pictures of one place of a file, times in ticks, sorted.
using PictureTimes = std::vector<std::int64_t>;

// Whether pictures are usually shown at this rate: whole numbers, and those over 1.001.
bool IsUsualRate(Rational fps);

struct PeakRate {
  double measured = 0;  // pictures a second
  Rational usual;       // within 5 % of it, or the next above; 60 at most
};

// The rate in the fastest twentieth of the places, seven pictures long each so that times that
// waver count as what they are on average. Of places too short to tell: none.
std::optional<PeakRate> FindPeakRate(std::span<const PictureTimes> places, Rational time_base);

// FindPeakRate() of eight places of the movie, 64 pictures or 12 seconds each, 32 MiB together at
// most; where the file states no length (what a browser records), of its first 32 MiB. `fd` is a
// regular file, `opened` its demuxer after avformat_find_stream_info, which is only asked what it
// knows, `start_us` where the movie begins on the container's clock; the descriptor's position
// stays. None where it cannot be read so.
std::optional<PeakRate> MeasureRate(int fd, const AVFormatContext& opened, int stream,
                                    std::int64_t start_us, std::stop_token stop);

}  // namespace gopmill
