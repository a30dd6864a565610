// SPDX-License-Identifier: Apache-2.0
//
// Draws a script of subtitles over pictures in the size and pixel format of the output: libass, by
// way of libavfilter. What is drawn depends on the script, the time, the size, the frame rate and
// the fonts of the machine (fontconfig), wherever a burner begins: libass moves a cue out of the
// way of those it has placed already and leaves it there, so a burner that begins among cues first
// draws, unseen, the frames at which they and those around them appeared (at most 128).
//
// Thread-safety: thread-compatible; one worker at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "codec/filter_chain.h"
#include "media/av_ptr.h"
#include "media/plan.h"

namespace gopmill {

class SubtitleBurner {
 public:
  // For pictures like this one. kUnsupported where FFmpeg was built without libass.
  static Result<std::unique_ptr<SubtitleBurner>> Open(std::shared_ptr<const SubtitleScript> script,
                                                      const OutputGrid& grid,
                                                      const AVFrame& picture);

  // A new picture with what is shown at output frame n over it. Frames in ascending order.
  Result<av::Frame> Draw(const AVFrame& picture, std::int64_t n);

 private:
  SubtitleBurner(std::shared_ptr<const SubtitleScript> script, const OutputGrid& grid,
                 FilterChain chain)
      : script_(std::move(script)), grid_(grid), chain_(std::move(chain)) {}
  Result<av::Frame> DrawAt(const AVFrame& picture, std::int64_t us);
  Status CatchUp(const AVFrame& picture, std::int64_t n);
  [[nodiscard]] std::vector<std::int64_t> FramesBefore(std::int64_t n) const;

  std::shared_ptr<const SubtitleScript> script_;
  OutputGrid grid_;
  FilterChain chain_;
  bool begun_ = false;
};

}  // namespace gopmill
