// SPDX-License-Identifier: Apache-2.0
//
// What the settings, the command line and the parts that carry them out must have alike, although
// they do not see each other.
//
// Thread-safety: safe (constants).
#pragma once

#include <string_view>

namespace gopmill {

// From the most to nothing at all; and how they are told to people.
inline constexpr std::string_view kLogLevels[] = {"trace",   "debug", "info",
                                                  "warning", "error", "off"};
inline constexpr std::string_view kLogLevelsText = "trace, debug, info, warning, error or off";

// Which worker gets which unit unless somebody says otherwise: a name of the policy registry.
inline constexpr std::string_view kDefaultPolicy = "hearth";

}  // namespace gopmill
