// SPDX-License-Identifier: Apache-2.0
//
// EmbeddedAssets itself is in the generated file.
#include "server/http/assets.h"

#include <algorithm>

namespace gopmill {

const Asset* FindAsset(std::string_view name) {
  const std::span<const Asset> assets = EmbeddedAssets();
  const auto found = std::ranges::find(assets, name, &Asset::name);
  return found == assets.end() ? nullptr : &*found;
}

std::string_view AssetContentType(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  if (name.ends_with(".json")) return "application/json";
  return "application/octet-stream";
}

}  // namespace gopmill
