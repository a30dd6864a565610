// SPDX-License-Identifier: Apache-2.0
#include "media/orientation.h"

extern "C" {
#include <libavutil/display.h>
}

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace gopmill {

Orientation OrientationOf(std::span<const std::uint8_t> bytes) {
  std::array<std::int32_t, 9> matrix{};
  if (bytes.size() < sizeof matrix) return {};
  std::memcpy(matrix.data(), bytes.data(), sizeof matrix);
  Orientation found;
  found.mirrored = std::int64_t{matrix[0]} * matrix[4] < std::int64_t{matrix[1]} * matrix[3];
  if (found.mirrored) {  // take out a flip that comes before the turn
    for (std::int32_t& value : std::span(matrix).first(2)) value = -std::max(value, -INT32_MAX);
  }
  const double counterclockwise = av_display_rotation_get(matrix.data());
  if (std::isnan(counterclockwise)) return {};
  const int quarters = static_cast<int>(std::lround(-counterclockwise / 90.0));
  found.rotation = ((quarters % 4 + 4) % 4) * 90;
  return found;
}

}  // namespace gopmill
