// SPDX-License-Identifier: Apache-2.0
//
// One clock for the tracks of an RTP sender. Each track counts in its own units from a place of its
// own; what joins them are the sender's reports (RFC 3550 section 6.4.1), and until those have come
// the times of arrival.
//
// The distance of two packets of a track is that of their RTP times: what the network did to them
// does not show. A track whose report comes before its first packet, as is usual, begins beside
// what has begun. Otherwise tracks move beside the pictures, or where those have no reports beside
// another track that has: at once when the reports of both have come, and by a thousandth of what
// passes while later ones say that they are more than kTracksApart from each other, as the clock of
// a sound card and that of the pictures come to be. What a report says of a track that is beside
// another leaps where a clock of the sender was set; that is not followed, since TimestampRepair
// closes the leap of the track whose times go by that clock. Where the times of a track would lie
// in front of zero, or have gone farther than kFarthestFromArrival from those of arrival, its
// sender began anew or had its clock set, or its times are wild: it goes on at the time of arrival,
// and tracks that do so alike stay together. So times are bounded, whatever a sender does. Pure.
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
// More than what reports waver by, less than what is seen.
inline constexpr std::int64_t kTracksApart = 40'000'000;

class RtpClock {
 public:
  // Units per second of each track, within the bounds above; the number of that of pictures.
  RtpClock(const std::vector<std::uint32_t>& rates, std::size_t pictures);

  // Time of a packet in nanoseconds, never negative; all packets of one RTP time have the same.
  // `arrival_ns` on any steady clock that the tracks share, below 2^60 (36 years).
  std::int64_t OnPacket(std::size_t track, std::uint32_t rtp, std::int64_t arrival_ns);
  // Whether the packet that was last lies in front of what came before of its track, which has
  // moved back since by so much that it shows: it is to be left out.
  [[nodiscard]] bool Overlaps(std::size_t track) const;
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
    std::optional<Report> early;        // that came before any packet
    // The sender's wall clock at unit 0, by its newest report since it began, but for what that
    // clock has been set by since.
    std::optional<std::int64_t> ntp_of_zero_ns;
    std::int64_t set_ns = 0;       // by so much
    bool joined = false;           // with another track, since it began
    std::int64_t expected_ns = 0;  // of the newest packet, by its arrival
    std::int64_t time_ns = -1;     // of the newest packet
    std::int64_t past_ns = -1;     // up to where it had come when it moved back
    [[nodiscard]] std::int64_t Nanos(std::int64_t count) const;
    [[nodiscard]] std::int64_t Unwrap(std::uint32_t rtp) const;
    // Its newest packet is at `place_ns`.
    void Anchor(std::uint32_t rtp, std::int64_t place_ns);
    [[nodiscard]] std::int64_t AheadOfArrival() const;
  };
  // With the report that came before its first packet.
  void Begin(Track& track, const Report& report);
  void Learn(Track& track, const Report& report);
  static void MoveBeside(Track& track, Track& reference);
  void Join(Track& track);
  void Follow(Track& track, std::int64_t passed_ns);
  [[nodiscard]] static std::int64_t Aside(const Track& track, const Track& reference);
  [[nodiscard]] static bool Fits(const Track& track, const Track& reference);
  Track* ReferenceOf(const Track& track);
  void BeginAnew(Track& track, std::uint32_t rtp, std::int64_t expected_ns);

  const std::size_t pictures_;
  std::vector<Track> tracks_;
  std::optional<std::int64_t> leap_ns_;  // by which a track was moved when it began anew last
};

}  // namespace gopmill
