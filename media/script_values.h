// SPDX-License-Identifier: Apache-2.0
//
// Values in the head and in the tags of a script (script_head.h, script_tags.h), written so that
// libass reads what is meant.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gopmill {

// Of fonts and styles; what is behind is cut off.
inline constexpr std::size_t kMaxScriptName = 100;

// The number that `text` begins with, between `least` and `most`; nothing if there is none, or none
// that a double holds.
std::optional<double> ScriptNumber(std::string_view text, double least, double most);
// Digits without an exponent, which libass does not read everywhere.
std::string ScriptDigits(double number);
// "&H00FF00&", "-2147483640", "0xFF": what of it can be a colour, not long; empty if nothing.
std::string ScriptColour(std::string_view text);

}  // namespace gopmill
