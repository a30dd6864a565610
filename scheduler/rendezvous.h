// SPDX-License-Identifier: Apache-2.0
//
// Highest random weight ("rendezvous") hashing: every candidate gets a pseudo-random weight from
// (stream, candidate) and the highest one wins. When a candidate leaves, only the streams it had
// move; when one joins, streams move only to it.
//
// Source: D. G. Thaler, C. V. Ravishankar, "Using Name-Based Mappings to Increase Hit Rates",
// IEEE/ACM Transactions on Networking 6(1), 1998. Their weight function, all unsigned, is
//     W(S, D) = (A * ((A * S + B) XOR D) + B) mod 2^31,   A = 1103515245, B = 12345
// with S the candidate and D a 31-bit digest of the name.
//
// Two things are needed to get an even spread from it, both tested: D must be a real digest (a
// stream number used as D is far from uniform), and every node of a tree must have an id of its own
// (numbering children 0..k-1 at each level makes the same choice at each level).
//
// Thread-safety: compatible (pure functions and plain values).
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace gopmill {

enum class HashKind {
  kMixed,    // 64 bits, Mix64 of key and candidate; the default
  kPrinted,  // the function above
};

// A bijection of 64-bit words in which every input bit flips every output bit with probability near
// one half (the finaliser of splitmix64, G. Steele et al., OOPSLA 2014).
constexpr std::uint64_t Mix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

// The digest of a stream that all weights are made from. `draw` numbers independent digests of the
// same stream: a tree whose draw 0 ends at a worker that has left tries draw 1, and so on.
constexpr std::uint64_t StreamKey(StreamId stream, std::uint32_t draw = 0) {
  return Mix64(Mix64(stream.value) + 0xD1B54A32D192ED03ULL * draw);
}

// The key of the codec contexts of a stream that shares them with no other; never 0.
constexpr std::uint64_t OwnContext(StreamId stream) {
  const std::uint64_t key = Mix64(stream.value);
  return key != 0 ? key : 1;
}

// The weight function of the publication on a 31-bit digest; the result is below 2^31.
constexpr std::uint32_t PrintedWeight(std::uint32_t digest, std::uint32_t candidate) {
  constexpr std::uint32_t kA = 1103515245;
  constexpr std::uint32_t kB = 12345;
  return (kA * ((kA * candidate + kB) ^ (digest & 0x7FFFFFFFU)) + kB) & 0x7FFFFFFFU;
}

// One candidate: a worker or a tree node.
struct Candidate {
  std::uint64_t salt = 0;  // Mix64(id), so that the decision mixes only once
  std::uint32_t id = 0;    // distinct among all candidates of one machine

  static constexpr Candidate Of(std::uint32_t id) { return {Mix64(id), id}; }
};

// The weight of `candidate` for the stream with digest `key`, in the open interval (0, 1).
inline double Weight(HashKind kind, std::uint64_t key, const Candidate& candidate) {
  if (kind == HashKind::kPrinted) {
    const auto digest = static_cast<std::uint32_t>(key >> 33);
    return (PrintedWeight(digest, candidate.id) + 0.5) * 0x1p-31;
  }
  const std::uint64_t mixed = Mix64(key ^ candidate.salt);
  // 53 bits fill a double; the half keeps 0 out. 1 cannot be reached either.
  return (static_cast<double>(mixed >> 12) + 0.5) * 0x1p-52;
}

}  // namespace gopmill
