// SPDX-License-Identifier: Apache-2.0
//
// What a client of RTMP sends behind its greeting. The first byte says in which pieces the others
// come: nothing may depend on it, and what is let through never opens more than it may.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "server/live/rtmp_open_messages.h"
#include "tests/fuzz/bytes.h"

namespace {

using gopmill::RtmpOpenMessages;
using gopmill::fuzz::Require;

struct Outcome {
  bool taken = true;
  std::size_t open = 0;
};

Outcome Take(std::span<const std::uint8_t> bytes, std::size_t piece) {
  RtmpOpenMessages messages;
  Require(messages.Take(std::vector<std::uint8_t>(3073)).ok());
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    if (!messages.Take(bytes.subspan(at, std::min(piece, bytes.size() - at))).ok())
      return {false, 0};
    Require(messages.open_bytes() <= gopmill::kMaxRtmpOpen);
  }
  return {true, messages.open_bytes()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span bytes(data + 1, size - 1);
  const Outcome whole = Take(bytes, bytes.size() + 1);
  const Outcome pieces = Take(bytes, std::size_t{data[0]} + 1);
  Require(whole.taken == pieces.taken && whole.open == pieces.open);
  return 0;
}
