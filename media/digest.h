// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 (FIPS 180-4) and CRC-32 (IEEE), by libavutil. Thread-safety: safe (pure functions).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gopmill {

std::string Sha256Hex(std::string_view bytes);
std::uint32_t Crc32(std::string_view bytes);

}  // namespace gopmill
