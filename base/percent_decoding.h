// SPDX-License-Identifier: Apache-2.0
//
// Parts of a URL with their escapes decoded (RFC 3986 section 2.1), whatever bytes these stand for:
// who asks for it says which may be in there.
//
// Thread-safety: safe (pure function).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gopmill {

// What '+' is: itself, as in paths, or a blank, as in queries.
enum class Plus { kLiteral, kBlank };

// Nothing if an escape is cut short or not hexadecimal.
std::optional<std::string> PercentDecoded(std::string_view text, Plus plus);

}  // namespace gopmill
