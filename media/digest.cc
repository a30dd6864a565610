// SPDX-License-Identifier: Apache-2.0
#include "media/digest.h"

extern "C" {
#include <libavutil/crc.h>
#include <libavutil/mem.h>
#include <libavutil/sha.h>
}

#include <array>
#include <memory>

#include "base/status.h"

namespace gopmill {

std::string Sha256Hex(std::string_view bytes) {
  const std::unique_ptr<AVSHA, void (*)(void*)> context(av_sha_alloc(), av_free);
  GOPMILL_CHECK(context != nullptr && av_sha_init(context.get(), 256) == 0);
  av_sha_update(context.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  std::array<std::uint8_t, 32> digest{};
  av_sha_final(context.get(), digest.data());
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : digest) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

std::uint32_t Crc32(std::string_view bytes) {
  const AVCRC* table = av_crc_get_table(AV_CRC_32_IEEE_LE);
  return ~av_crc(table, ~0U, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace gopmill
