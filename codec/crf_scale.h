// SPDX-License-Identifier: Apache-2.0
//
// The scale of constant rate factors (CRF) as those use it who choose one.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cmath>

namespace gopmill {

// Better than kTransparentCrf nobody sees: bits are not spent for their own sake.
inline constexpr double kTransparentCrf = 12, kHighestCrf = 51;

// To a multiple of 1/32: so the last bits of the C library's logarithms, which differ between CPU
// models, do not reach the encoder.
inline double RoundedCrf(double crf) { return std::round(crf * 32) / 32; }

}  // namespace gopmill
