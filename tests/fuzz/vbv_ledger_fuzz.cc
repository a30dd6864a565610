// SPDX-License-Identifier: Apache-2.0
//
// Frame sizes against the buffer of a decoder, counted anew in whole numbers. And what the plan
// rests on: a row of units each of which passes alone never empties the buffer of the whole stream.
#include <algorithm>
#include <cmath>
#include <vector>

#include "codec/vbv.h"
#include "tests/fuzz/bytes.h"

namespace {

using namespace gopmill;
using fuzz::Bytes;
using fuzz::Require;

// More than doubles are wrong by after so many frames: a frame and what flows in have at most 2^28
// bits, of which a step rounds off 2^-25 at most. Less than the step in which levels differ, which
// is half a bit divided by 120 frames per second: only where a frame fits to the bit, rounding may
// say either.
constexpr int kMaxFrames = 10'000;
constexpr double kRounding = 1e-3;

// A bucket in bits times frames per second, so that nothing is rounded.
class Bucket {
 public:
  Bucket(std::int64_t maxrate, std::int64_t bufsize, std::int64_t fps)
      : fps_(fps), rate_(maxrate), size_(2 * bufsize * fps), level_(bufsize * fps) {}
  void Take(std::int64_t bytes) {
    left_ = level_ - 16 * bytes * fps_;
    lowest_ = std::min(lowest_, left_);
    level_ = std::min(size_, std::max<std::int64_t>(left_, 0) + 2 * rate_);
  }
  [[nodiscard]] double left_bits() const { return Bits(left_); }  // behind the last frame
  [[nodiscard]] double level_bits() const { return Bits(level_); }
  [[nodiscard]] double lowest_bits() const { return Bits(lowest_); }

 private:
  [[nodiscard]] double Bits(std::int64_t halves) const {
    return static_cast<double>(halves) / (2 * static_cast<double>(fps_));
  }
  const std::int64_t fps_, rate_, size_;
  std::int64_t level_;  // in halves
  std::int64_t left_ = level_, lowest_ = level_;
};

bool Near(double a, double b) { return std::abs(a - b) < kRounding; }

// What the ledger says of a frame; whether it was late.
bool CheckFrame(std::int64_t bytes, VbvLedger& ledger, Bucket& bucket) {
  bucket.Take(bytes);
  const bool told = ledger.Add(bytes);
  if (!Near(bucket.left_bits(), 0)) Require(told == (bucket.left_bits() > 0));
  Require(Near(ledger.level_bits(), bucket.level_bits()));
  Require(Near(ledger.lowest_bits(), bucket.lowest_bits()));
  return !told;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes in(data, size);
  const std::int64_t fps = 1 + in.Below(120);
  const std::int64_t maxrate = 10'000 + in.Number(3);
  const std::int64_t bufsize = 10'000 + in.Number(3);
  VbvLedger ledger(maxrate, bufsize, {fps, 1}), of_passing(maxrate, bufsize, {fps, 1});
  Bucket bucket(maxrate, bufsize, fps);
  std::int64_t late = 0, frames = 0;
  while (!in.empty() && frames < kMaxFrames) {
    VbvModel unit(maxrate, bufsize, {fps, 1});
    std::vector<std::int64_t> sizes;
    for (std::int64_t left = 1 + in.Below(20); left > 0 && !in.empty(); --left, ++frames) {
      sizes.push_back(in.Number(1 + in.Byte() % 3));
      unit.Add(sizes.back());
      late += CheckFrame(sizes.back(), ledger, bucket) ? 1 : 0;
    }
    if (!unit.passes()) {
      const double factor = unit.CorrectionFactor();
      Require(factor > 0 && factor < 1);
      continue;
    }
    for (const std::int64_t bytes : sizes) of_passing.Add(bytes);
    Require(of_passing.lowest_bits() > -kRounding);
  }
  Require(ledger.underflows() == late);
  return 0;
}
