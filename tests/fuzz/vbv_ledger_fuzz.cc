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

// A bucket in bits times frames per second, so that nothing is rounded.
class Bucket {
 public:
  Bucket(std::int64_t maxrate, std::int64_t bufsize, std::int64_t fps)
      : fps_(fps), rate_(maxrate), size_(2 * bufsize * fps), level_(bufsize * fps) {}
  bool Take(std::int64_t bytes) {
    level_ -= 16 * bytes * fps_;
    const bool in_time = level_ >= 0;
    level_ = std::min(size_, std::max<std::int64_t>(level_, 0) + 2 * rate_);
    return in_time;
  }
  [[nodiscard]] double bits() const {
    return static_cast<double>(level_) / (2 * static_cast<double>(fps_));
  }

 private:
  const std::int64_t fps_, rate_, size_;
  std::int64_t level_;  // in halves
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes in(data, size);
  const std::int64_t fps = 1 + in.Below(120);
  const std::int64_t maxrate = 10'000 + in.Number(3);
  const std::int64_t bufsize = 10'000 + in.Number(3);
  VbvLedger ledger(maxrate, bufsize, {fps, 1}), of_passing(maxrate, bufsize, {fps, 1});
  Bucket bucket(maxrate, bufsize, fps);
  std::int64_t late = 0;
  while (!in.empty()) {
    VbvModel unit(maxrate, bufsize, {fps, 1});
    std::vector<std::int64_t> sizes;
    for (std::int64_t left = 1 + in.Below(20); left > 0 && !in.empty(); --left) {
      sizes.push_back(in.Number(1 + in.Byte() % 3));
      unit.Add(sizes.back());
      const bool in_time = bucket.Take(sizes.back());
      // Where a frame fits to the bit, rounding may say either.
      const bool told = ledger.Add(sizes.back());
      if (told != in_time) return 0;
      late += in_time ? 0 : 1;
      Require(std::abs(ledger.level_bits() - bucket.bits()) < 1e-3 * static_cast<double>(bufsize));
    }
    if (!unit.passes()) {
      const double factor = unit.CorrectionFactor();
      Require(factor > 0 && factor < 1);
      continue;
    }
    for (const std::int64_t bytes : sizes) of_passing.Add(bytes);
    Require(of_passing.lowest_bits() > -1e-3 && of_passing.underflows() == 0);
  }
  Require(ledger.underflows() == late);
  return 0;
}
