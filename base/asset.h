// SPDX-License-Identifier: Apache-2.0
//
// A file that is built into the program (gopmill_embed in cmake/Embed.cmake).
//
// Thread-safety: safe (constants).
#pragma once

#include <string_view>

namespace gopmill {

struct Asset {
  std::string_view name;  // "page.css"
  std::string_view bytes;
  std::string_view etag;  // quoted, from the SHA-256 of the bytes
};

}  // namespace gopmill
