// SPDX-License-Identifier: Apache-2.0
//
// Entity tags of answers that clients may have already (RFC 9110 section 13.1.2).
//
// Thread-safety: safe (pure function).
#pragma once

#include <string_view>

namespace gopmill {

// Whether the field If-None-Match names `tag`, which has its quotes. "W/" in front of a name is
// passed over: the comparison is the weak one.
inline bool NamesTag(std::string_view if_none_match, std::string_view tag) {
  return if_none_match == "*" || if_none_match.find(tag) != std::string_view::npos;
}

}  // namespace gopmill
