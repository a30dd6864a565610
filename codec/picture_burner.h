// SPDX-License-Identifier: Apache-2.0
//
// Draws the pictures of a track of subtitles, scaled with the source's picture
// (picture_geometry.h: PlaceCanvas).
//
// Thread-safety: thread-compatible; one worker at a time.
#pragma once

#include <memory>

#include "codec/subtitle_burner.h"

namespace gopmill {

// Of a script that has pictures. kUnsupported for pixel formats that cannot be drawn on.
Result<std::unique_ptr<SubtitleBurner>> OpenPictureBurner(
    std::shared_ptr<const SubtitleScript> script, const OutputGrid& grid, const AVFrame& picture,
    const PictureArea& where);

}  // namespace gopmill
