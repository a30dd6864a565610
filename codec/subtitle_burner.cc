// SPDX-License-Identifier: Apache-2.0
#include "codec/subtitle_burner.h"

#include <utility>

#include "codec/picture_burner.h"
#include "codec/script_burner.h"

namespace gopmill {

Result<std::unique_ptr<SubtitleBurner>> SubtitleBurner::Open(
    std::shared_ptr<const SubtitleScript> script, const OutputGrid& grid, const AVFrame& picture,
    const PictureArea& where) {
  if (script->bitmaps) return OpenPictureBurner(std::move(script), grid, picture, where);
  return OpenScriptBurner(std::move(script), grid, picture);
}

}  // namespace gopmill
