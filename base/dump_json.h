// SPDX-License-Identifier: Apache-2.0
//
// JSON as text. Strings in it may come from outside (titles, file names, words of other libraries),
// and the library's own dump() throws at bytes that are not UTF-8: here they become U+FFFD.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace gopmill {

// On one line, or with `indent` spaces to a level.
template <class Json>
std::string DumpJson(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace gopmill
