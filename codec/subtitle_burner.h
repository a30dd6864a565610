// SPDX-License-Identifier: Apache-2.0
//
// Draws subtitles over pictures in the size and pixel format of the output. What is drawn depends
// on the script, the time, the size, the frame rate and the fonts of the machine, wherever a burner
// begins.
//
// Thread-safety: thread-compatible; one worker at a time.
#pragma once

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "codec/picture_geometry.h"
#include "media/av_ptr.h"
#include "media/plan.h"

namespace gopmill {

class SubtitleBurner {
 public:
  // For pictures like this one, `where` of which has the source's. kUnsupported where FFmpeg was
  // built without libass.
  static Result<std::unique_ptr<SubtitleBurner>> Open(std::shared_ptr<const SubtitleScript> script,
                                                      const OutputGrid& grid,
                                                      const AVFrame& picture,
                                                      const PictureArea& where);
  SubtitleBurner() = default;
  virtual ~SubtitleBurner() = default;
  SubtitleBurner(const SubtitleBurner&) = delete;
  SubtitleBurner& operator=(const SubtitleBurner&) = delete;

  // A new picture with what is shown at output frame n over it. Frames in ascending order.
  virtual Result<av::Frame> Draw(const AVFrame& picture, std::int64_t n) = 0;
};

}  // namespace gopmill
