// SPDX-License-Identifier: Apache-2.0
//
// One clock for the tracks of an RTP sender. Each track counts in its own units from a place of its
// own; what joins them are the sender's reports (RFC 3550 section 6.4.1), and until those have come
// the times of arrival.
//
// The distance of two packets of a track is always that of their RTP times: what the network did to
// them does not show. A track moves at most once, when its first report comes after its first
// packet. Pure.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace gopmill {

class RtpClock {
 public:
  // Units per second of each track; 0 = as of pictures, 90,000.
  explicit RtpClock(const std::vector<std::uint32_t>& rates);

  // Time of a packet in nanoseconds; all packets of one RTP time have the same. `arrival_ns` on any
  // steady clock that the tracks share.
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
  };
  void Join(Track& track);

  std::vector<Track> tracks_;
  std::vector<std::int64_t> ntp_offsets_ns_;  // from the sender's wall clocks to ours
};

}  // namespace gopmill
