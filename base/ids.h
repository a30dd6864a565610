// SPDX-License-Identifier: Apache-2.0
//
// Strong ids: a StreamId cannot be passed where a WorkerId is wanted, and neither is a bare int.
//
// Thread-safety: compatible (plain values).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace gopmill {

// One client request: a source plus a target. 64 bits, unique within the process.
struct StreamId {
  std::uint64_t value = 0;
  auto operator<=>(const StreamId&) const = default;
};

// Position of a unit within its stream, counted from 0 in output order.
struct UnitIndex {
  std::int64_t value = 0;
  auto operator<=>(const UnitIndex&) const = default;
};

// More workers than this make no sense on any machine that can be described.
inline constexpr int kMaxWorkers = 4096;

// One worker: a thread pinned to one PU. 0..N-1, dense, in topology order; N is at most
// kMaxWorkers.
struct WorkerId {
  std::int32_t value = -1;
  auto operator<=>(const WorkerId&) const = default;
};

// A unit of one stream: what is scheduled.
struct UnitId {
  StreamId stream;
  UnitIndex index;
  auto operator<=>(const UnitId&) const = default;
};

}  // namespace gopmill

template <>
struct std::hash<gopmill::StreamId> {
  std::size_t operator()(gopmill::StreamId id) const noexcept {
    return std::hash<std::uint64_t>{}(id.value);
  }
};

template <>
struct std::hash<gopmill::UnitId> {
  std::size_t operator()(const gopmill::UnitId& id) const noexcept {
    const auto mixed =
        id.stream.value * 0x9E3779B97F4A7C15ULL ^ static_cast<std::uint64_t>(id.index.value);
    return std::hash<std::uint64_t>{}(mixed);
  }
};
