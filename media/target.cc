// SPDX-License-Identifier: Apache-2.0
#include "media/target.h"

#include "media/target_names.h"

namespace gopmill {

std::string_view Name(VideoCodec value) { return NameIn(kVideoCodecs, value); }
std::string_view Name(AudioCodec value) { return NameIn(kAudioCodecs, value); }
std::string_view Name(Container value) { return NameIn(kContainers, value); }
std::string_view Name(Preset value) { return NameIn(kPresets, value); }
std::string_view Name(Profile value) { return NameIn(kProfiles, value); }
std::string_view Name(Fit value) { return NameIn(kFits, value); }
std::string_view Name(Denoise value) { return NameIn(kDenoises, value); }
std::string_view Name(Deinterlace value) { return NameIn(kDeinterlaces, value); }
std::string_view Name(Subtitles value) { return NameIn(kSubtitles, value); }
std::string_view Name(Quality value) { return NameIn(kQualities, value); }

int TemporalRadius(Denoise strength) {
  switch (strength) {
    case Denoise::kOff: break;
    case Denoise::kLight: return 2;  // the filter's least
    case Denoise::kMedium: return 3;
    case Denoise::kStrong: return 4;
  }
  return 0;
}

void LeaveSoundOut(TargetRequest& request) {
  request.acodec = AudioCodec::kNone;
  request.abitrate.reset();
  request.channels.reset();
}

SourceClip ClipOf(const Target& target) {
  SourceClip clip{.start_us = ToTicks(target.start, kMicros)};
  if (target.duration.valid()) clip.end_us = clip.start_us + ToTicks(target.duration, kMicros);
  return clip;
}

bool HasBFrames(VideoCodec codec, Preset preset, Profile profile) {
  if (codec == VideoCodec::kHevc) return true;
  return codec == VideoCodec::kH264 && preset != Preset::kUltrafast &&
         profile != Profile::kBaseline;
}

bool HasLimitedRange(VideoCodec codec) { return codec == VideoCodec::kMpeg4; }

bool HasLowDelay(const Target& target) {
  const bool continuous = target.vcodec == VideoCodec::kH264 && target.quality != Quality::kBest;
  if (!continuous || target.unit_seconds <= 0 || target.whole_units) return false;
  if (target.maxrate == 0) return true;
  constexpr double kRoom = 1.5;    // over the mean rate, for a GOP that is dearer than others
  constexpr double kBuffer = 0.5;  // seconds, so that a key frame fits
  const auto cap = static_cast<double>(target.maxrate);
  return target.rate_mode == RateMode::kBitrate &&
         cap >= kRoom * static_cast<double>(target.bitrate) &&
         static_cast<double>(target.bufsize) >= kBuffer * cap;
}

}  // namespace gopmill
