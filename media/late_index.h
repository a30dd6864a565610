// SPDX-License-Identifier: Apache-2.0
//
// Whether an MP4 or MOV can be read from front to end: its index (moov) may lie behind the pictures
// (mdat) that cannot be understood without it, which is how phones and FFmpeg write them unless
// told otherwise (ISO/IEC 14496-12 section 6.2.3).
//
// Thread-safety: safe (pure function).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace gopmill {

// Of the first bytes of a file. Nothing while they do not tell; that is the case of other formats
// as well where there are fewer than 8 bytes.
std::optional<bool> HasLateIndex(std::span<const std::uint8_t> begin);

}  // namespace gopmill
