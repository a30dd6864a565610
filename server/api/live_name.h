// SPDX-License-Identifier: Apache-2.0
//
// Names of live sources, and paths that lead to them: "live/NAME".
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace gopmill {

inline constexpr std::size_t kMaxLiveNameBytes = 64;

// Paths of live sources begin with this; the rest is the name.
inline constexpr std::string_view kLivePrefix = "live/";

// Letters, digits, '.', '_' and '-', the first no '.'.
Status CheckLiveName(std::string_view name);
// The same of a name in a setting, which the error says together with the name.
Status CheckNameSetting(const std::string& setting, const std::string& name);

}  // namespace gopmill
