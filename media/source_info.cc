// SPDX-License-Identifier: Apache-2.0
#include "media/source_info.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gopmill {

std::string NoSoundReason(const SourceInfo& source) {
  const std::vector<std::string>& tracks = source.unusable_audio;
  if (tracks.empty()) return "the source has no audio";
  return fmt::format("the source's audio cannot be used: {}", fmt::join(tracks, ", "));
}

Error NoSuchSoundTrack(const SourceInfo& source, std::size_t count) {
  return InvalidArgument(
      "audio", "The source has no such sound track.",
      count == 0 ? "nothing: " + NoSoundReason(source) : "1 to " + std::to_string(count));
}

std::string FormatOf(const SourceInfo& source) {
  const VideoInfo& video = source.video;
  std::string text = fmt::format("{} {}x{}", video.codec, video.width, video.height);
  for (std::size_t i = 0; i < source.sounds(); ++i) {
    const AudioInfo& audio = source.sound(i);
    text += audio.silent ? std::string(", no sound")
                         : fmt::format(", {} {} Hz {} channels", audio.codec, audio.sample_rate,
                                       audio.channels);
  }
  return text;
}

}  // namespace gopmill
