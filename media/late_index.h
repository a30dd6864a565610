// SPDX-License-Identifier: Apache-2.0
//
// Whether an MP4 or MOV can be read from front to end: its index (moov) may lie behind the pictures
// (mdat) that cannot be understood without it, which is how phones and FFmpeg write them unless
// told otherwise (ISO/IEC 14496-12 section 6.2.3). Few bytes have to tell, because more may not be
// had before these are read.
//
// Thread-safety: safe (pure function).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace gopmill {

// How far behind its begin it may be found that a file is not one of those.
inline constexpr std::size_t kMostBeforeIndex = 2048;

// Of the first bytes of a file; true as well if more than kMostBeforeIndex come before either.
// Nothing while they do not tell, which never lasts for more than that and a header; so it is of
// other formats as well where there are fewer than 8 bytes.
std::optional<bool> HasLateIndex(std::span<const std::uint8_t> begin);

}  // namespace gopmill
