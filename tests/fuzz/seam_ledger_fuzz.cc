// SPDX-License-Identifier: Apache-2.0
//
// Streams of units with pictures in coding order, some of them with a fault put in. The checker of
// seams must find nothing in the ones without, and something in the ones with.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "server/stream/seam_ledger.h"
#include "tests/fuzz/bytes.h"

namespace {

using namespace gopmill;
using fuzz::Bytes;
using fuzz::Require;

constexpr std::int64_t kSamples = 1024;
constexpr std::array<Size, 2> kSizes{{{640, 360}, {320, 180}}};

enum Fault { kNone, kLose, kDouble, kOffGrid, kSets, kSound, kFaults };

// Frames first .. end - 1 in coding order: now and then one is sent ahead of some shown before it.
std::vector<std::int64_t> CodingOrder(std::int64_t first, std::int64_t end, Bytes& in) {
  std::vector<std::int64_t> order;
  for (std::int64_t n = first; n < end; ++n) order.push_back(n);
  for (std::size_t at = 1; at < order.size();) {
    const std::size_t length = std::min<std::size_t>(1 + in.Byte() % 5, order.size() - at);
    const auto begin = order.begin() + static_cast<std::ptrdiff_t>(at);
    std::rotate(begin, begin + static_cast<std::ptrdiff_t>(length) - 1,
                begin + static_cast<std::ptrdiff_t>(length));
    at += length;
  }
  return order;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes in(data, size);
  const std::int64_t ticks = 1 + in.Below(1000);
  std::int64_t joins = 0;
  SeamLedger ledger({.fps = {25, 1}, .video_time_base = {1, 25 * ticks}},
                    [&joins](const Seam&) { ++joins; });
  std::int64_t frame = 0, sample = 0, unit = 0, faults = 0, changes = 0;
  std::array<std::int64_t, 2> sets{7, 70};  // of each size
  std::array<bool, 2> seen{};
  std::size_t size_now = 0;
  while (!in.empty() && unit < 200) {
    const std::int64_t end = frame + 2 + in.Byte() % 40;
    const int fault = in.Byte() % 64 < 60 ? kNone : 1 + in.Byte() % (kFaults - 1);
    const std::size_t size_then = std::exchange(size_now, in.Byte() % 8 == 0 ? 1 : 0);
    changes += unit > 0 && size_now != size_then ? 1 : 0;
    if (fault == kSets) ++sets[size_now];
    const bool first_of_size = !std::exchange(seen[size_now], true);
    ledger.OnPlanned(UnitIndex{unit}, frame, end);
    ledger.OnParameterSets(UnitIndex{unit}, static_cast<std::uint64_t>(sets[size_now]),
                           kSizes[size_now]);
    std::vector<std::int64_t> order = CodingOrder(frame, end, in);
    const std::size_t place = 1 + static_cast<std::size_t>(in.Byte()) % (order.size() - 1);
    if (fault == kLose) order.erase(order.begin() + static_cast<std::ptrdiff_t>(place));
    if (fault == kDouble) order.push_back(order[place]);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const bool off = fault == kOffGrid && ticks > 1 && i == place;
      ledger.OnPicture(order[i] * ticks + (off ? 1 : 0), 100, i + 1 == order.size());
      if (fault == kSound && i == place) sample += 1 + in.Below(5000);
      ledger.OnSound(sample, kSamples);
      sample += kSamples;
    }
    const bool harmless =
        fault == kNone || (fault == kSets && first_of_size) || (fault == kOffGrid && ticks == 1);
    faults += harmless ? 0 : 1;
    frame = end;
    ++unit;
  }
  const SeamTotals& totals = ledger.totals();
  Require(totals.units == unit && totals.joins == joins &&
          joins == std::max<std::int64_t>(unit - 1, 0));
  Require(totals.frames_planned == frame);
  Require(totals.size_changes == changes);
  Require((totals.violations() == 0) == (faults == 0));
  Require(totals.violations() >= faults);
  return 0;
}
