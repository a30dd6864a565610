// SPDX-License-Identifier: Apache-2.0
#include "media/decode_entries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <random>

#include "base/clock.h"
#include "media/unit_planner.h"

namespace gopmill {
namespace {

// The rules by themselves, for one time: from the last place up to it back to one that serves.
class PlainRules {
 public:
  PlainRules(const SourceIndex& index, const ShownTime& time, int context)
      : index_(index), time_(time), context_(context) {
    for (std::size_t n = 0; n < index.video.size(); ++n) {
      const SourceIndex::Video& packet = index.video[n];
      if (packet.access != RandomAccess::kNone && packet.pts <= time.until) places_.push_back(n);
    }
  }

  [[nodiscard]] DecodeEntry Entry() const {
    if (places_.empty()) return {};
    std::size_t back = 0;
    if (Recovers(0)) back = Recovers(1) ? 2 : 1;
    while (back < places_.size() && !HasContext(back)) ++back;
    if (back >= places_.size()) return {.packet = 0, .preroll = true};
    return {.packet = static_cast<std::int64_t>(At(back)), .preroll = back > 0};
  }

 private:
  [[nodiscard]] std::size_t At(std::size_t back) const {
    return places_[places_.size() - 1 - back];
  }
  [[nodiscard]] bool Recovers(std::size_t back) const {
    return back < places_.size() && index_.video[At(back)].access == RandomAccess::kRecovery;
  }
  [[nodiscard]] bool HasContext(std::size_t back) const {
    if (Recovers(back) && back == 0) return false;
    const std::size_t first = At(Recovers(back) ? back - 1 : back);
    const std::size_t end = first + static_cast<std::size_t>(context_ + kReorderSlack + 2);
    int pictures = 0;
    for (std::size_t n = first; n < std::min(end, index_.video.size()); ++n) {
      const SourceIndex::Video& packet = index_.video[n];
      pictures +=
          !packet.hidden && packet.pts >= index_.video[first].pts && packet.pts < time_.shown;
    }
    return pictures >= context_;
  }

  const SourceIndex& index_;
  const ShownTime time_;
  const int context_;
  std::vector<std::size_t> places_;
};

enum class Order { kUp, kDown, kMixed, kFewTimes };

SourceTicks TimeIn(Order order, int n, int count, std::mt19937& random) {
  const auto up_to = [&](int most) { return std::uniform_int_distribution(0, most)(random); };
  switch (order) {
    case Order::kUp: return n + up_to(8) - 4;
    case Order::kDown: return count - n + up_to(4) - 2;
    case Order::kMixed: return up_to(count);
    case Order::kFewTimes: return up_to(5) * 20;
  }
  return 0;
}

// All kinds of access, from a few places to one at each packet.
SourceIndex RandomIndex(Order order, std::mt19937& random) {
  const auto up_to = [&](int most) { return std::uniform_int_distribution(0, most)(random); };
  constexpr std::array kKinds{RandomAccess::kClosed, RandomAccess::kOpenGop,
                              RandomAccess::kRecovery};
  SourceIndex index;
  const int count = 1 + up_to(150), rare = up_to(14), hidden = 1 + up_to(30);
  for (int n = 0; n < count; ++n) {
    SourceIndex::Video packet;
    packet.pts = TimeIn(order, n, count, random);
    packet.hidden = up_to(hidden) == 0;
    if (up_to(rare) == 0) packet.access = kKinds[static_cast<std::size_t>(up_to(2))];
    index.video.push_back(packet);
  }
  return index;
}

// What is shown is at or before its time, but where the first picture comes later.
std::vector<ShownTime> TimesOf(const SourceIndex& index, std::mt19937& random) {
  std::vector<ShownTime> times;
  SourceTicks shown = index.video.front().pts;
  for (SourceTicks until = -2; until < 170; until += std::uniform_int_distribution(0, 12)(random)) {
    for (const SourceIndex::Video& packet : index.video) {
      if (!packet.hidden && packet.pts <= until) shown = std::max(shown, packet.pts);
    }
    times.push_back({.until = until, .shown = shown});
  }
  return times;
}

TEST(DecodeEntriesTest, AreWhatTheRulesSayOfEachByItself) {
  std::mt19937 random(9);
  int later = 0;
  for (int round = 0; round < 600; ++round) {
    const auto order = static_cast<Order>(round % 4);
    const SourceIndex index = RandomIndex(order, random);
    const std::vector<ShownTime> times = TimesOf(index, random);
    for (const int context : {0, 1, 2, 5}) {
      const std::vector<DecodeEntry> entries = DecodeEntries(index, times, context);
      ASSERT_EQ(entries.size(), times.size());
      for (std::size_t k = 0; k < times.size(); ++k) {
        const DecodeEntry plain = PlainRules(index, times[k], context).Entry();
        ASSERT_EQ(entries[k].packet, plain.packet) << round << ' ' << context << ' ' << k;
        ASSERT_EQ(entries[k].preroll, plain.preroll) << round << ' ' << context << ' ' << k;
        later += plain.preroll && plain.packet > 0;
      }
    }
  }
  EXPECT_GT(later, 2000) << "places before the last one, and not the first packet";
}

// Ten hours of 30 pictures a second, each a place of random access, in half seconds: each comes
// before all that are shown before it. Going through the places for each would take hours.
TEST(DecodeEntriesTest, OfTenHoursThatComeBackwardsAreFoundInTime) {
  constexpr SourceTicks kCount = 10 * 3600 * 30;
  SourceIndex index;
  index.video.resize(kCount);
  for (SourceTicks n = 0; n < kCount; ++n) {
    SourceIndex::Video& packet = index.video[static_cast<std::size_t>(n)];
    packet.pts = kCount - 1 - n;
    packet.access = RandomAccess::kClosed;
  }
  std::vector<ShownTime> times;
  for (SourceTicks time = 0; time < kCount; time += 15) times.push_back({time, time});
  for (const int context : {0, 4}) {
    const Duration before = ThreadCpuNow();
    const std::vector<DecodeEntry> entries = DecodeEntries(index, times, context);
    EXPECT_LT(ThreadCpuNow() - before, std::chrono::seconds(10)) << context;
    EXPECT_EQ(entries.back().packet, context > 0 ? 0 : kCount - 1) << "none has four behind it";
    EXPECT_EQ(entries.back().preroll, context > 0);
  }
}

}  // namespace
}  // namespace gopmill
