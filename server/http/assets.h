// SPDX-License-Identifier: Apache-2.0
//
// The files built into the program: the page with its style and script, and the OpenAPI document.
// The bytes are made at build time from server/http/page/ and openapi.json (cmake/Embed.cmake).
//
// Thread-safety: safe (constants).
#pragma once

#include <span>
#include <string_view>

#include "base/asset.h"

namespace gopmill {

// All of them, in no particular order.
std::span<const Asset> EmbeddedAssets();

// The asset of that name, null if there is none.
const Asset* FindAsset(std::string_view name);

// By the end of the name: "text/css; charset=utf-8".
std::string_view AssetContentType(std::string_view name);

}  // namespace gopmill
