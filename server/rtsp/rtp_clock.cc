// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/rtp_clock.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/rational.h"
#include "base/status.h"

namespace gopmill {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
// Added to the first arrival, so that a track that turns out to begin earlier has room.
constexpr std::int64_t kLead = 40 * kSecond;
// Reports that put the tracks farther apart than this against their arrival are not believed: some
// senders fill in clocks that have nothing to do with each other. A sender may have had more of one
// track in hand, by the other bound at most: then the newest packets fit, if not the first.
constexpr std::int64_t kFarthest = 5 * kSecond;
constexpr std::int64_t kMostInHand = 30 * kSecond;
// What goes back by more is taken for a jump of the track's clock, and undone (TimestampRepair).
constexpr std::int64_t kUnnoticed = kSecond;
// Of what passes: the clocks that drive tracks differ by less.
constexpr std::int64_t kFollowShare = 1000;
// More between two reports of a track than clocks drift and reports waver.
constexpr std::int64_t kWasSet = kSecond / 2;
// Arrivals behind are of no clock.
constexpr std::int64_t kLatest = std::int64_t{1} << 60;

}  // namespace

std::int64_t RtpClock::Track::Nanos(std::int64_t count) const {
  return Rescale(count, {1, rate}, kNanos);
}

// The count nearest to the newest packet.
std::int64_t RtpClock::Track::Unwrap(std::uint32_t rtp) const {
  if (!units) return rtp;
  return *units + static_cast<std::int32_t>(rtp - static_cast<std::uint32_t>(*units));
}

void RtpClock::Track::Anchor(std::uint32_t rtp, std::int64_t place_ns) {
  units = rtp;
  offset_ns = place_ns - Nanos(rtp);
}

std::int64_t RtpClock::Track::AheadOfArrival() const {
  return Nanos(*units) + offset_ns - expected_ns;
}

RtpClock::RtpClock(const std::vector<std::uint32_t>& rates, std::size_t pictures)
    : pictures_(pictures), tracks_(rates.size()) {
  for (std::size_t i = 0; i < rates.size(); ++i) {
    GOPMILL_CHECK(rates[i] >= kSlowestRtpClock && rates[i] <= kFastestRtpClock);
    tracks_[i].rate = rates[i];
  }
}

std::int64_t RtpClock::OnPacket(std::size_t index, std::uint32_t rtp, std::int64_t arrival_ns) {
  Track& track = tracks_[index];
  const std::int64_t expected = std::clamp<std::int64_t>(arrival_ns, 0, kLatest) + kLead;
  if (track.units) {
    const std::int64_t before = *std::exchange(track.units, track.Unwrap(rtp));
    Follow(track, track.Nanos(*track.units - before));
  } else {
    track.Anchor(rtp, expected);
    track.expected_ns = expected;
    if (track.early) Begin(track, *track.early);
  }
  track.expected_ns = expected;
  track.time_ns = track.Nanos(*track.units) + track.offset_ns;
  if (track.time_ns > track.past_ns) track.past_ns = -1;
  if (track.time_ns < 0 || std::abs(track.time_ns - expected) > kFarthestFromArrival) {
    BeginAnew(track, rtp, expected);
  }
  return track.time_ns;
}

bool RtpClock::Overlaps(std::size_t index) const {
  return tracks_[index].time_ns <= tracks_[index].past_ns;
}

// A sender whose clock is set sets those of all its tracks: who comes to that later is moved by as
// much as the first one, as long as that is near its arrival too.
void RtpClock::BeginAnew(Track& track, std::uint32_t rtp, std::int64_t expected_ns) {
  const bool alike = leap_ns_ && std::abs(track.time_ns + *leap_ns_ - expected_ns) <= kFarthest;
  if (!alike) leap_ns_ = expected_ns - track.time_ns;
  track.ntp_of_zero_ns.reset();
  track.set_ns = 0;
  track.joined = false;
  track.past_ns = -1;
  track.time_ns += *leap_ns_;
  track.Anchor(rtp, track.time_ns);
}

void RtpClock::OnReport(std::size_t index, std::uint64_t ntp, std::uint32_t rtp) {
  if (ntp == 0) return;
  const auto seconds = static_cast<std::int64_t>(ntp >> 32U);
  const auto fraction = static_cast<std::int64_t>(ntp & 0xffff'ffffU);
  const Report report{seconds * kSecond + ((fraction * kSecond) >> 32U), rtp};
  Track& track = tracks_[index];
  if (track.units) return Learn(track, report);
  track.early = report;
}

void RtpClock::Learn(Track& track, const Report& report) {
  const std::int64_t says = report.ntp_ns - track.Nanos(track.Unwrap(report.rtp));
  const std::int64_t moved = says - track.set_ns - track.ntp_of_zero_ns.value_or(says);
  if (track.joined && std::abs(moved) > kWasSet) track.set_ns += moved;
  track.ntp_of_zero_ns = says - track.set_ns;
  if (!track.joined) Join(track);
}

// Nothing of it has gone out, so that it is what moves, even if it is the pictures: their packets
// come last where there is a jitter buffer for each track.
void RtpClock::Begin(Track& track, const Report& report) {
  track.ntp_of_zero_ns = report.ntp_ns - track.Nanos(track.Unwrap(report.rtp));
  const auto begun = [&track](const Track& other) {
    return &other != &track && other.units && Fits(track, other);
  };
  if (begun(tracks_[pictures_])) return MoveBeside(track, tracks_[pictures_]);
  const auto other = std::ranges::find_if(tracks_, begun);
  if (other != tracks_.end()) MoveBeside(track, *other);
}

// How far a track is from where its reports and those of the other have it.
std::int64_t RtpClock::Aside(const Track& track, const Track& reference) {
  return (reference.offset_ns - track.offset_ns) +
         (*track.ntp_of_zero_ns - *reference.ntp_of_zero_ns);
}

bool RtpClock::Fits(const Track& track, const Track& reference) {
  if (!track.ntp_of_zero_ns || !reference.ntp_of_zero_ns) return false;
  const std::int64_t aside = Aside(track, reference);
  if (std::abs(aside) <= kFarthest) return true;
  const std::int64_t by_newest = reference.AheadOfArrival() - track.AheadOfArrival();
  return std::abs(aside) <= kMostInHand && std::abs(aside - by_newest) <= kFarthest;
}

// What a track is put beside; null for one that others are. It is the pictures where it can be:
// they are seen to move. Tracks whose reports are by another wall clock have one of their own.
RtpClock::Track* RtpClock::ReferenceOf(const Track& track) {
  Track& pictures = tracks_[pictures_];
  if (&track == &pictures) return nullptr;
  if (Fits(track, pictures)) return &pictures;
  for (Track& other : tracks_) {
    if (&other == &track) return nullptr;
    if (Fits(track, other)) return &other;
  }
  return nullptr;
}

void RtpClock::MoveBeside(Track& track, Track& reference) {
  const std::int64_t aside = Aside(track, reference);
  if (aside < -kUnnoticed) track.past_ns = track.time_ns;
  track.offset_ns += aside;
  track.joined = reference.joined = true;
}

void RtpClock::Join(Track& track) {
  if (Track* reference = ReferenceOf(track)) return MoveBeside(track, *reference);
  for (Track& other : tracks_) {
    if (ReferenceOf(other) == &track) MoveBeside(other, track);
  }
}

// A share of what passes is heard as nothing, and no repair takes it for a jump.
void RtpClock::Follow(Track& track, std::int64_t passed_ns) {
  const Track* reference = ReferenceOf(track);
  if (reference == nullptr) return;
  const std::int64_t aside = Aside(track, *reference);
  if (std::abs(aside) <= kTracksApart) return;
  const std::int64_t most = std::clamp<std::int64_t>(passed_ns, 0, kSecond) / kFollowShare;
  track.offset_ns += std::clamp(aside, -most, most);
}

}  // namespace gopmill
