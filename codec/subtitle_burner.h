// SPDX-License-Identifier: Apache-2.0
//
// Draws a script of subtitles over pictures in the size and pixel format of the output: libass, by
// way of libavfilter. What is drawn depends on the script, the time, the size and the fonts of the
// machine (fontconfig) and on nothing that was drawn before, so a kept burner and a new one draw
// the same.
//
// Thread-safety: thread-compatible; one worker at a time.
#pragma once

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "codec/filter_chain.h"
#include "media/av_ptr.h"
#include "media/subtitle_script.h"

namespace gopmill {

struct BurnSpec {
  std::shared_ptr<const SubtitleScript> script;  // equal if it is the same one
  int width = 0, height = 0, format = -1;
  int color_space = 2, color_range = 0;

  bool operator==(const BurnSpec&) const = default;
};

BurnSpec MakeBurnSpec(std::shared_ptr<const SubtitleScript> script, const AVFrame& picture);

class SubtitleBurner {
 public:
  // kUnsupported where FFmpeg was built without libass.
  static Result<std::unique_ptr<SubtitleBurner>> Open(const BurnSpec& spec);

  // A new picture with what the script shows at this time of the source (microseconds) over it.
  Result<av::Frame> Draw(const AVFrame& picture, std::int64_t us);

  [[nodiscard]] const BurnSpec& spec() const { return spec_; }
  [[nodiscard]] std::size_t footprint_bytes() const;

 private:
  SubtitleBurner(BurnSpec spec, FilterChain chain)
      : spec_(std::move(spec)), chain_(std::move(chain)) {}

  BurnSpec spec_;
  FilterChain chain_;
};

}  // namespace gopmill
