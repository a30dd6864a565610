// SPDX-License-Identifier: Apache-2.0
//
// How late the newest segments of a live presentation were: from when all their pictures had come
// to when they could be had. A DASH presentation declares it once, for as long as it lasts: so one
// segment that was slow (the machine was busy, an encoder was opened) must not count. Too much
// keeps all players back for ever; with too little a segment is listed a little after it is due.
//
// Thread-safety: compatible (a plain value); guarded by the lock of its LivePresentation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/clock.h"

namespace gopmill {

inline constexpr std::size_t kDelaysKept = 8;  // of so many segments

class SegmentDelays {
 public:
  // Of one rendition of segment `number`: that of the segment is the longest of its renditions.
  void Add(std::int64_t number, Duration delay);
  [[nodiscard]] bool known() const { return !delays_.empty(); }
  // The longest but one; that of the only segment; zero without any. Not negative.
  [[nodiscard]] Duration Usual() const;

 private:
  std::map<std::int64_t, Duration> delays_;
};

}  // namespace gopmill
