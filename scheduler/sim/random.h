// SPDX-License-Identifier: Apache-2.0
//
// Random numbers that are the same on every machine and with every standard library (those of
// <random>'s distributions are not), so that a seed names a run.
//
// Generator: xoshiro256** of D. Blackman and S. Vigna (2018), seeded by splitmix64.
//
// Thread-safety: compatible; every run has its own.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace gopmill::sim {

// Mixes two numbers into a seed, for runs and streams that must not share their draws.
constexpr std::uint64_t MixSeed(std::uint64_t seed, std::uint64_t salt) {
  std::uint64_t x = seed + 0x9E3779B97F4A7C15ULL * (salt + 1);
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31U);
}

// Salts of what is drawn apart from the streams. A stream has its number for a salt; those from the
// least of these on are moved out of their way, the others keep the draws they always had.
inline constexpr std::uint64_t kPairSalt = 0x7A26;
inline constexpr std::uint64_t kVariationSalt = 0x7A2E;
inline constexpr std::uint64_t kArrivalSalt = 0xA221;
inline constexpr std::uint64_t kBurstSalt = 0xB5257;
constexpr std::uint64_t SaltOfStream(std::uint64_t number) {
  constexpr std::uint64_t kLeastOther = kPairSalt, kAboveAll = 1ULL << 32U;
  return number < kLeastOther ? number : kAboveAll + number;
}

class Random {
 public:
  explicit Random(std::uint64_t seed) {
    for (std::uint64_t i = 0; i < state_.size(); ++i) state_[i] = MixSeed(seed, i);
  }

  std::uint64_t Next() {
    const std::uint64_t result = Rotate(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17U;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = Rotate(state_[3], 45);
    return result;
  }

  // In (0, 1), never an end.
  double Uniform() { return UniformOf(Next()); }
  // The greatest of all would be rounded up to 1.
  static constexpr double UniformOf(std::uint64_t bits) {
    return std::min((static_cast<double>(bits >> 11U) + 0.5) * 0x1.0p-53, 1 - 0x1.0p-53);
  }
  // 0 .. n-1.
  std::uint64_t Below(std::uint64_t n) {
    return static_cast<std::uint64_t>(Uniform() * static_cast<double>(n));
  }
  double Exponential(double mean) { return -mean * std::log(Uniform()); }
  // Mean 0, standard deviation 1 (Box and Muller; the second value is not kept).
  double Normal() {
    const double radius = std::sqrt(-2 * std::log(Uniform()));
    return radius * std::cos(2 * std::numbers::pi * Uniform());
  }
  // Mean 1 for every sigma; exactly 1 for sigma 0.
  double Lognormal(double sigma) {
    return sigma <= 0 ? 1.0 : std::exp(sigma * Normal() - sigma * sigma / 2);
  }
  // 1, 2, ... with that mean (>= 1).
  std::uint64_t Geometric(double mean) {
    if (mean <= 1) return 1;
    return 1 + static_cast<std::uint64_t>(std::log(Uniform()) / std::log1p(-1 / mean));
  }

 private:
  static constexpr std::uint64_t Rotate(std::uint64_t x, unsigned k) {
    return (x << k) | (x >> (64U - k));
  }
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace gopmill::sim
