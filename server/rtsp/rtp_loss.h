// SPDX-License-Identifier: Apache-2.0
//
// How many packets of an RTP stream never came, by the sequence numbers of those that did (RFC
// 3550, appendix A.1). Behind a jitter buffer, which puts them in order and gives up on late ones.
// A jump of kLargestLoss or more is a sender that began anew: nothing is lost there. Pure.
//
// RtpDrops counts what a queue in front of that has dropped, where it is as many: RtpLoss has the
// others.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <optional>

namespace gopmill {

class RtpLoss {
 public:
  static constexpr std::uint16_t kLargestLoss = 3000;  // MAX_DROPOUT of the RFC

  // Packets that are missing in front of this one.
  std::int64_t OnPacket(std::uint16_t number) {
    const std::uint16_t expected = expected_.value_or(number);
    expected_ = static_cast<std::uint16_t>(number + 1);
    const auto missing = static_cast<std::uint16_t>(number - expected);
    return missing < kLargestLoss ? missing : 0;
  }

 private:
  std::optional<std::uint16_t> expected_;
};

class RtpDrops {
 public:
  // `behind_drop`: the queue has dropped what was in front of this packet. As numbers wrap, more
  // than half of them are none: the sender goes back.
  std::int64_t OnPacket(std::uint16_t number, bool behind_drop) {
    const std::uint16_t expected = expected_.value_or(number);
    expected_ = static_cast<std::uint16_t>(number + 1);
    const auto missing = static_cast<std::uint16_t>(number - expected);
    return behind_drop && missing >= RtpLoss::kLargestLoss && missing < kHalf ? missing : 0;
  }

 private:
  static constexpr std::uint16_t kHalf = 1U << 15U;
  std::optional<std::uint16_t> expected_;
};

}  // namespace gopmill
