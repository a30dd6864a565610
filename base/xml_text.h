// SPDX-License-Identifier: Apache-2.0
//
// Text between the tags of XML, and in attributes with double quotes if it has none.
//
// Thread-safety: safe (pure function).
#pragma once

#include <string>
#include <string_view>

namespace gopmill {

// What means something in XML is written so that it does not.
inline std::string XmlText(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      default: safe += c;
    }
  }
  return safe;
}

}  // namespace gopmill
