// SPDX-License-Identifier: Apache-2.0
//
// What becomes of a source's pictures on their way to the encoder, for people: which form the
// output has, and what is converted or dithered for that. Of the pictures that the source was
// opened with; those that come later in another form are converted to the same one.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>
#include <vector>

#include "base/rational.h"
#include "codec/video_encoder.h"
#include "media/source_info.h"

namespace gopmill {

struct PictureDescription {
  // FFmpeg's names; "unknown" where nothing is stated.
  std::string pixel_format, primaries, transfer, matrix, range;
  Rational sample_aspect{1, 1};
  // Of "dynamic range" (tone-mapped), "chroma" (other subsampling), "depth", "range", "RGB".
  std::vector<std::string> converted;
  bool dithered = false;  // ordered, where bits are lost
};

PictureDescription DescribePictures(const VideoInfo& source, const EncoderSpec& encoder);

}  // namespace gopmill
