// SPDX-License-Identifier: Apache-2.0
#include "media/decode_entries.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <queue>
#include <set>
#include <utility>

#include "media/unit_planner.h"

namespace gopmill {
namespace {

using Numbers = std::set<std::size_t>;

std::optional<std::size_t> Before(const Numbers& numbers, std::size_t number) {
  const auto at = numbers.lower_bound(number);
  return at == numbers.begin() ? std::nullopt : std::optional(*std::prev(at));
}

std::optional<std::size_t> After(const Numbers& numbers, std::size_t number) {
  const auto at = numbers.upper_bound(number);
  return at == numbers.end() ? std::nullopt : std::optional(*at);
}

// The places of random access up to a time that goes on. One that does not serve is not looked at
// again until it may: when the time comes at which it has its pictures, or the place behind it
// becomes another.
class EntryPlaces {
 public:
  EntryPlaces(const SourceIndex& index, int context) : index_(index), context_(context) {}

  void Add(std::size_t place);
  // For what is shown then; never earlier than before.
  DecodeEntry EntryFor(SourceTicks shown);

 private:
  [[nodiscard]] bool Recovers(std::size_t place) const {
    return index_.video[place].access == RandomAccess::kRecovery;
  }
  [[nodiscard]] std::size_t EndOfExact(std::size_t last) const;
  [[nodiscard]] std::optional<SourceTicks> HasPicturesBehind(std::size_t first) const;
  bool Serves(std::size_t place, SourceTicks shown);

  const SourceIndex& index_;
  const int context_;
  Numbers places_;  // in the order of decoding
  Numbers awake_;   // those of them that may serve
  using Sleeper = std::pair<SourceTicks, std::size_t>;
  std::priority_queue<Sleeper, std::vector<Sleeper>, std::greater<>> asleep_;
};

void EntryPlaces::Add(std::size_t place) {
  places_.insert(places_.end(), place);  // mostly behind all others
  awake_.insert(awake_.end(), place);
  if (const auto before = Before(places_, place)) awake_.insert(*before);
}

// Where only pictures are exact from the last place on that are decoded from one before: where it
// is a recovery point and the one before is one as well, a decoder may drop what begins the GOP
// there.
std::size_t EntryPlaces::EndOfExact(std::size_t last) const {
  const auto before = Before(places_, last);
  return Recovers(last) && before && Recovers(*before) ? *before : index_.video.size();
}

// The time behind which `context` of the pictures from packet `first` on, shown from it on, have
// been shown; none where there are not so many.
std::optional<SourceTicks> EntryPlaces::HasPicturesBehind(std::size_t first) const {
  const auto enough = static_cast<std::size_t>(context_);
  // Nothing that is shown so early comes later.
  const std::size_t end =
      std::min(first + enough + std::size_t{kReorderSlack} + 2, index_.video.size());
  std::vector<SourceTicks> times;
  for (std::size_t n = first; n < end; ++n) {
    const SourceTicks pts = index_.video[n].pts;
    if (!index_.video[n].hidden && pts >= index_.video[first].pts) times.push_back(pts);
  }
  if (times.size() < enough) return std::nullopt;
  const auto last = times.begin() + context_ - 1;
  std::ranges::nth_element(times, last);
  return *last;
}

// Whether decoding from this place gives exact pictures, `context` of them, before `shown`. After a
// recovery point a decoder may need a GOP.
bool EntryPlaces::Serves(std::size_t place, SourceTicks shown) {
  std::optional exact(place);
  if (Recovers(place)) exact = After(places_, place);
  if (!exact) return false;
  if (context_ == 0) return true;
  const std::optional<SourceTicks> behind = HasPicturesBehind(*exact);
  if (behind && *behind < shown) return true;
  if (behind) asleep_.emplace(*behind, place);
  return false;
}

DecodeEntry EntryPlaces::EntryFor(SourceTicks shown) {
  for (; !asleep_.empty() && asleep_.top().first < shown; asleep_.pop()) {
    awake_.insert(asleep_.top().second);
  }
  const auto last = Before(places_, index_.video.size());
  if (!last) return {};
  auto place = Before(awake_, EndOfExact(*last));
  for (; place && !Serves(*place, shown); place = Before(awake_, *place)) awake_.erase(*place);
  if (!place) return {.packet = 0, .preroll = true};
  return {.packet = static_cast<std::int64_t>(*place), .preroll = *place != *last};
}

}  // namespace

std::vector<DecodeEntry> DecodeEntries(const SourceIndex& index,
                                       const std::vector<ShownTime>& times, int context) {
  std::vector<std::pair<SourceTicks, std::size_t>> access;  // by time
  for (std::size_t n = 0; n < index.video.size(); ++n) {
    if (index.video[n].access != RandomAccess::kNone) access.emplace_back(index.video[n].pts, n);
  }
  if (!std::ranges::is_sorted(access)) std::ranges::sort(access);
  EntryPlaces places(index, context);
  std::vector<DecodeEntry> entries;
  entries.reserve(times.size());
  auto next = access.begin();
  for (const ShownTime& time : times) {
    for (; next != access.end() && next->first <= time.until; ++next) places.Add(next->second);
    entries.push_back(places.EntryFor(time.shown));
  }
  return entries;
}

}  // namespace gopmill
