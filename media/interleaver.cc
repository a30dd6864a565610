// SPDX-License-Identifier: Apache-2.0
#include "media/interleaver.h"

#include <algorithm>

#include "base/status.h"
#include "media/held_bytes.h"

namespace gopmill {
namespace {

// Whether a (in ticks of at) comes before b (in ticks of bt): exact, no rounding.
bool Before(std::int64_t a, Rational at, std::int64_t b, Rational bt) {
  const auto left = static_cast<internal::Int128>(a) * at.num * bt.den;
  const auto right = static_cast<internal::Int128>(b) * bt.num * at.den;
  return left < right;
}

}  // namespace

Interleaver::Interleaver(std::vector<Rational> time_bases) : tracks_(time_bases.size()) {
  for (std::size_t i = 0; i < time_bases.size(); ++i) {
    GOPMILL_CHECK(time_bases[i].positive());
    tracks_[i].time_base = time_bases[i];
  }
}

void Interleaver::Push(std::size_t track, av::Packet packet) {
  GOPMILL_CHECK(track < tracks_.size() && packet != nullptr && !tracks_[track].ended);
  bytes_ += HeldBytes(*packet);
  ++waiting_;
  const std::int64_t place = std::max(packet->dts, tracks_[track].promise.value_or(packet->dts));
  tracks_[track].packets.push_back({place, std::move(packet)});
}

void Interleaver::End(std::size_t track) {
  GOPMILL_CHECK(track < tracks_.size());
  tracks_[track].ended = true;
}

void Interleaver::Advance(std::size_t track, std::int64_t dts) {
  GOPMILL_CHECK(track < tracks_.size());
  auto& promise = tracks_[track].promise;
  if (!promise || *promise < dts) promise = dts;
}

// Whether `track` can still bring a packet that has to go out before one of track `than` at `dts`.
// At equal times the lower index goes first.
bool Interleaver::MayComeBefore(const Track& track, std::size_t index, std::int64_t dts,
                                Rational time_base, std::size_t than) const {
  const auto earlier_at = [&](std::int64_t time) {
    if (index < than) return !Before(dts, time_base, time, track.time_base);  // time <= dts
    return Before(time, track.time_base, dts, time_base);                     // time < dts
  };
  if (!track.packets.empty()) return earlier_at(track.packets.front().place);
  if (track.ended) return false;
  return !track.promise || earlier_at(*track.promise);
}

std::optional<std::pair<std::size_t, av::Packet>> Interleaver::Pop() {
  for (std::size_t candidate = 0; candidate < tracks_.size(); ++candidate) {
    Track& track = tracks_[candidate];
    if (track.packets.empty()) continue;
    const std::int64_t dts = track.packets.front().place;
    bool certain = true;
    for (std::size_t other = 0; merging_ && certain && other < tracks_.size(); ++other) {
      if (other == candidate) continue;
      certain = !MayComeBefore(tracks_[other], other, dts, track.time_base, candidate);
    }
    if (!certain) continue;
    av::Packet packet = std::move(track.packets.front().packet);
    track.packets.pop_front();
    bytes_ -= HeldBytes(*packet);
    --waiting_;
    return std::pair(candidate, std::move(packet));
  }
  return std::nullopt;
}

bool Interleaver::drained(std::size_t track) const {
  return tracks_[track].ended && tracks_[track].packets.empty();
}

bool Interleaver::drained() const {
  for (std::size_t track = 0; track < tracks_.size(); ++track) {
    if (!drained(track)) return false;
  }
  return true;
}

}  // namespace gopmill
