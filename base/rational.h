// SPDX-License-Identifier: Apache-2.0
//
// Exact fractions for frame rates, time bases and media times. No floating point anywhere on the
// path of a timestamp: rounding happens once, in Rescale, with the direction named by the caller.
//
// Thread-safety: compatible (plain values).
#pragma once

#include <compare>
#include <cstdint>
#include <numeric>
#include <utility>

#include "base/status.h"

namespace gopmill {

namespace internal {
// Not ISO C++, but both compilers have it; the keyword keeps -Wpedantic quiet at this one place.
__extension__ typedef __int128 Int128;

// Rounds towards minus infinity.
constexpr Int128 FloorDiv(Int128 a, Int128 b) {
  const Int128 q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}
}  // namespace internal

// num/den with den > 0 for a valid value. {0, 0} means "not given".
struct Rational {
  std::int64_t num = 0;
  std::int64_t den = 0;

  [[nodiscard]] constexpr bool valid() const { return den > 0; }
  [[nodiscard]] constexpr bool positive() const { return den > 0 && num > 0; }
  [[nodiscard]] constexpr double ToDouble() const {
    return den == 0 ? 0.0 : static_cast<double>(num) / static_cast<double>(den);
  }
  [[nodiscard]] constexpr Rational Inverse() const { return {den, num}; }
  [[nodiscard]] constexpr Rational Reduced() const {
    const std::int64_t divisor = std::gcd(num, den);
    return divisor == 0 ? *this : Rational{num / divisor, den / divisor};
  }

  // Compares the values (1/2 == 2/4). Both must be valid.
  friend constexpr std::strong_ordering operator<=>(const Rational& a, const Rational& b) {
    const auto left = static_cast<internal::Int128>(a.num) * b.den;
    const auto right = static_cast<internal::Int128>(b.num) * a.den;
    return left <=> right;
  }
  friend constexpr bool operator==(const Rational& a, const Rational& b) {
    if (a.den == 0 || b.den == 0) return a.den == b.den;
    return (a <=> b) == std::strong_ordering::equal;
  }
};

namespace internal {

// Of values that are not negative; that of 0 and b is b.
constexpr Int128 CommonDivisor(Int128 a, Int128 b) {
  while (b != 0) a = std::exchange(b, a % b);
  return a;
}

// The nearest one that 64 bits have: exact wherever they do have it.
constexpr Rational Narrowed(Int128 num, Int128 den) {
  constexpr Int128 kMost = INT64_MAX;
  const auto too_large = [](Int128 part) { return part > kMost || part < -kMost; };
  const Int128 divisor = CommonDivisor(num < 0 ? -num : num, den);
  if (divisor > 1) {
    num /= divisor;
    den /= divisor;
  }
  while ((too_large(num) || too_large(den)) && den > 1) {
    num /= 2;
    den /= 2;
  }
  if (too_large(num)) num = num < 0 ? -kMost : kMost;
  return {static_cast<std::int64_t>(num), static_cast<std::int64_t>(den)};
}

}  // namespace internal

// Both must be valid. Parts that need more than 64 bits are rounded.
constexpr Rational Sum(Rational a, Rational b) {
  return internal::Narrowed(
      static_cast<internal::Int128>(a.num) * b.den + static_cast<internal::Int128>(b.num) * a.den,
      static_cast<internal::Int128>(a.den) * b.den);
}
constexpr Rational Difference(Rational a, Rational b) { return Sum(a, {-b.num, b.den}); }

// Time bases that are not a stream's.
inline constexpr Rational kMicros{1, 1'000'000};
inline constexpr Rational kNanos{1, 1'000'000'000};

enum class Round { kDown, kUp, kNearest };

// `value` counted in ticks of `from` seconds, expressed in ticks of `to` seconds. Negative values
// round towards minus infinity for kDown and plus infinity for kUp; kNearest takes halves upwards.
// 128-bit inside: no overflow for any 64-bit value and 31-bit fractions. `from` must be valid and
// `to` positive.
constexpr std::int64_t Rescale(std::int64_t value, Rational from, Rational to,
                               Round round = Round::kNearest) {
  const auto num = static_cast<internal::Int128>(value) * from.num * to.den;
  const auto den = static_cast<internal::Int128>(from.den) * to.num;
  GOPMILL_CHECK(den != 0);
  switch (round) {
    case Round::kDown: return static_cast<std::int64_t>(internal::FloorDiv(num, den));
    case Round::kUp: return static_cast<std::int64_t>(-internal::FloorDiv(-num, den));
    case Round::kNearest:
      return static_cast<std::int64_t>(internal::FloorDiv(2 * num + den, 2 * den));
  }
  return 0;
}

// `seconds` in ticks of `base` seconds, to the nearest.
constexpr std::int64_t ToTicks(Rational seconds, Rational base) {
  return Rescale(seconds.num, {1, seconds.den}, base);
}

}  // namespace gopmill
