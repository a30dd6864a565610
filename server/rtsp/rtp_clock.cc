// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/rtp_clock.h"

#include <algorithm>
#include <cstdlib>

#include "base/rational.h"
#include "base/status.h"

namespace gopmill {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
// Added to the first arrival, so that a track that turns out to begin earlier has room.
constexpr std::int64_t kLead = 10 * kSecond;
// Reports that put the tracks farther apart than this against their arrival are not believed: some
// senders fill in clocks that have nothing to do with each other.
constexpr std::int64_t kFarthest = 5 * kSecond;
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

void RtpClock::Track::Anchor(std::uint32_t rtp, std::int64_t time_ns) {
  units = rtp;
  offset_ns = time_ns - Nanos(rtp);
}

RtpClock::RtpClock(const std::vector<std::uint32_t>& rates) : tracks_(rates.size()) {
  for (std::size_t i = 0; i < rates.size(); ++i) {
    GOPMILL_CHECK(rates[i] >= kSlowestRtpClock && rates[i] <= kFastestRtpClock);
    tracks_[i].rate = rates[i];
  }
}

std::int64_t RtpClock::OnPacket(std::size_t index, std::uint32_t rtp, std::int64_t arrival_ns) {
  Track& track = tracks_[index];
  const std::int64_t expected = std::clamp<std::int64_t>(arrival_ns, 0, kLatest) + kLead;
  const bool first = !track.units;
  track.units = track.Unwrap(rtp);
  if (first) track.Anchor(rtp, expected);
  Join(track);
  const std::int64_t time = track.Nanos(*track.units) + track.offset_ns;
  if (time >= 0 && std::abs(time - expected) <= kFarthestFromArrival) return time;
  return BeginAnew(track, rtp, expected);
}

// A sender whose clock is set sets those of all its tracks: who comes to that later is moved by as
// much as the first one, as long as that is near its arrival too.
std::int64_t RtpClock::BeginAnew(Track& track, std::uint32_t rtp, std::int64_t expected_ns) {
  const std::int64_t time = track.Nanos(*track.units) + track.offset_ns;
  const bool alike = leap_ns_ && std::abs(time + *leap_ns_ - expected_ns) <= kFarthest;
  if (!alike) leap_ns_ = expected_ns - time;
  track.Anchor(rtp, time + *leap_ns_);
  return time + *leap_ns_;
}

void RtpClock::OnReport(std::size_t index, std::uint64_t ntp, std::uint32_t rtp) {
  Track& track = tracks_[index];
  if (track.report || ntp == 0) return;
  const auto seconds = static_cast<std::int64_t>(ntp >> 32U);
  const auto fraction = static_cast<std::int64_t>(ntp & 0xffff'ffffU);
  track.report = Report{seconds * kSecond + ((fraction * kSecond) >> 32U), rtp};
  Join(track);
}

// The first track that has both keeps its place; the others are put beside it. One whose reports
// are by another wall clock keeps its own, too, and so do those that are by that one.
void RtpClock::Join(Track& track) {
  if (track.joined || !track.report || !track.units) return;
  track.joined = true;
  const std::int64_t ntp_of_zero =
      track.report->ntp_ns - track.Nanos(track.Unwrap(track.report->rtp));
  const auto fits = [&](std::int64_t ntp_offset_ns) {
    return std::abs(ntp_of_zero + ntp_offset_ns - track.offset_ns) <= kFarthest;
  };
  const auto found = std::ranges::find_if(ntp_offsets_ns_, fits);
  if (found != ntp_offsets_ns_.end()) {
    track.offset_ns = ntp_of_zero + *found;
  } else {
    ntp_offsets_ns_.push_back(track.offset_ns - ntp_of_zero);
  }
}

}  // namespace gopmill
