// SPDX-License-Identifier: Apache-2.0
//
// A made-up source for the tests of this folder: 60 s of 1280x720 at 30 fps, 3 Mb/s, with stereo
// AAC.
#pragma once

#include "media/source_info.h"

namespace gopmill {

inline SourceInfo MakeSource() {
  SourceInfo source;
  source.duration = {60, 1};
  source.bitrate = 3'128'000;
  source.video.width = 1280;
  source.video.height = 720;
  source.video.fps = {30, 1};
  source.video.bitrate = 3'000'000;
  source.audio.emplace();
  source.audio->codec = "aac";
  source.audio->sample_rate = 44100;
  source.audio->channels = 2;
  source.audio->bitrate = 128'000;
  return source;
}

}  // namespace gopmill
