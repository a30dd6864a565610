// SPDX-License-Identifier: Apache-2.0
//
// Parts of a file's name or of a path with slashes. A dot in a folder's name is none of the file's,
// and one that a name begins with hides the file and ends no stem.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>
#include <string_view>

namespace gopmill {

// Where the last part begins: 0 without a folder.
constexpr std::size_t NameStart(std::string_view path) { return path.rfind('/') + 1; }

// All but the name's last dot and what follows it; all of it for a name without a dot.
constexpr std::string_view StemOf(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos || dot <= NameStart(path) ? path : path.substr(0, dot);
}

// What follows the name's last dot, in lower case; empty for a name without one.
std::string ExtensionOf(std::string_view path);

}  // namespace gopmill
