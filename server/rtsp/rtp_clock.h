// SPDX-License-Identifier: Apache-2.0
//
// One clock for the tracks of an RTP sender. Each track counts in its own units from a place of its
// own; what joins them are the sender's reports (RFC 3550 section 6.4.1), and until those have come
// the times of arrival.
//
// The distance of two packets of a track is that of their RTP times: what the network did to them
// does not show. A track moves at most once, when its first report comes after its first packet;
// and wherever its times would lie in front of zero, or have gone farther than kFarthestFromArrival
// from those of arrival, which is a sender that began anew, one whose clock was set, or times that
// are wild: it goes on at the time of arrival, and tracks of which all do so stay together. So
// times are bounded, whatever a sender does. Pure.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace gopmill {

// Units per second that a track may have.
inline constexpr std::uint32_t kSlowestRtpClock = 1000, kFastestRtpClock = 384'000;
// A movie that is sent as fast as the network takes it is ahead of its arrival by its length.
inline constexpr std::int64_t kFarthestFromArrival = 12LL * 3600 * 1'000'000'000;

class RtpClock {
 public:
  // Units per second of each track, within the bounds above.
  explicit RtpClock(const std::vector<std::uint32_t>& rates);

  // Time of a packet in nanoseconds, never negative; all packets of one RTP time have the same.
  // `arrival_ns` on any steady clock that the tracks share, below 2^60 (36 years).
  std::int64_t OnPacket(std::size_t track, std::uint32_t rtp, std::int64_t arrival_ns);
  // `ntp`: 32.32 fixed-point seconds, as reports have it.
  void OnReport(std::size_t track, std::uint64_t ntp, std::uint32_t rtp);

 private:
  struct Report {
    std::int64_t ntp_ns = 0;
    std::uint32_t rtp = 0;
  };
  struct Track {
    std::uint32_t rate = 0;
    std::optional<std::int64_t> units;  // of the newest packet, without the wrapping of 32 bits
    std::int64_t offset_ns = 0;         // of unit 0
    std::optional<Report> report;       // the first one
    bool joined = false;                // by it
    [[nodiscard]] std::int64_t Nanos(std::int64_t count) const;
    [[nodiscard]] std::int64_t Unwrap(std::uint32_t rtp) const;
    // Its newest packet is at `time_ns`.
    void Anchor(std::uint32_t rtp, std::int64_t time_ns);
  };
  void Join(Track& track);
  std::int64_t BeginAnew(Track& track, std::uint32_t rtp, std::int64_t expected_ns);

  std::vector<Track> tracks_;
  std::vector<std::int64_t> ntp_offsets_ns_;  // from the sender's wall clocks to ours
  std::optional<std::int64_t> leap_ns_;       // by which a track was moved when it began anew last
};

}  // namespace gopmill
