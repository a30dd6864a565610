// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <algorithm>
#include <cstdint>

namespace gopmill {

std::size_t CharacterLength(std::string_view text) {
  const auto byte = [&text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xED && byte(1) > 0x9F;
  const bool too_big = lead == 0xF4 && byte(1) > 0x8F;
  return overlong || surrogate || too_big ? 0 : length;
}

bool IsControl(std::string_view character) {
  const auto last = static_cast<std::uint8_t>(character.back());
  if (character.size() == 2) return character.front() == '\xC2' && last < 0xA0;
  return character.size() == 1 && IsControlByte(character.back());
}

bool HasControl(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(1, CharacterLength(text));
    if (IsControl(text.substr(0, length))) return true;
    text.remove_prefix(length);
  }
  return false;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = CharacterLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string WellFormed(std::string_view text, std::size_t max_bytes) {
  std::string good;
  while (!text.empty()) {
    const std::size_t length = CharacterLength(text);
    if (good.size() + length > max_bytes) break;
    good += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return good;
}

}  // namespace gopmill
