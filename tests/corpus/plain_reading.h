// SPDX-License-Identifier: Apache-2.0
//
// A movie as one decoder sees it that goes through it from its first key picture to the end, with
// nothing of ours behind the demuxer: no repair of times, no units, no second attempt. What a
// transcode of the same movie reports is held against it.
//
// Thread-safety: safe (pure function).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace gopmill {

struct PlainReading {
  std::int64_t pictures = 0;  // that came out of the decoder
  std::int64_t rejected = 0;  // packets that it called errors
};

// Nothing where the movie cannot be opened.
std::optional<PlainReading> ReadPlainly(const std::string& path);

}  // namespace gopmill
