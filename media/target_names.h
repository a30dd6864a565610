// SPDX-License-Identifier: Apache-2.0
//
// The words that requests and answers have for the values of a target's enums: one table each, read
// in both directions, so that what is printed can be asked for. A value without a word here cannot
// be asked for. Only for the two that need the tables: others have Name() (media/target.h) and
// SetParam (media/target_params.h).
//
// Thread-safety: safe (constants and pure functions).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "media/target.h"

namespace gopmill {

template <class T>
struct Named {
  T value;
  std::string_view name;
};

inline constexpr std::array kVideoCodecs = std::to_array<Named<VideoCodec>>({
    {VideoCodec::kH264, "h264"},
    {VideoCodec::kHevc, "hevc"},
    {VideoCodec::kAv1, "av1"},
    {VideoCodec::kVp9, "vp9"},
    {VideoCodec::kMpeg4, "mpeg4"},
});
inline constexpr std::array kAudioCodecs = std::to_array<Named<AudioCodec>>({
    {AudioCodec::kAac, "aac"},
    {AudioCodec::kOpus, "opus"},
    {AudioCodec::kCopy, "copy"},
    {AudioCodec::kNone, "none"},
});
inline constexpr std::array kContainers = std::to_array<Named<Container>>({
    {Container::kMp4, "mp4"},
    {Container::kTs, "ts"},
    {Container::kMkv, "mkv"},
    {Container::kWebm, "webm"},
});
inline constexpr std::array kPresets = std::to_array<Named<Preset>>({
    {Preset::kUltrafast, "ultrafast"},
    {Preset::kSuperfast, "superfast"},
    {Preset::kVeryfast, "veryfast"},
    {Preset::kFaster, "faster"},
    {Preset::kFast, "fast"},
    {Preset::kMedium, "medium"},
    {Preset::kSlow, "slow"},
    {Preset::kSlower, "slower"},
    {Preset::kVeryslow, "veryslow"},
});
inline constexpr std::array kProfiles = std::to_array<Named<Profile>>({
    {Profile::kAuto, "auto"},
    {Profile::kBaseline, "baseline"},
    {Profile::kMain, "main"},
    {Profile::kHigh, "high"},
    {Profile::kHigh10, "high10"},
    {Profile::kMain10, "main10"},
});
inline constexpr std::array kQualities = std::to_array<Named<Quality>>({
    {Quality::kNormal, "normal"},
    {Quality::kBest, "best"},
});
inline constexpr std::array kFits = std::to_array<Named<Fit>>({
    {Fit::kFit, "fit"},
    {Fit::kStretch, "stretch"},
    {Fit::kCrop, "crop"},
    {Fit::kPad, "pad"},
});
inline constexpr std::array kSubtitles = std::to_array<Named<Subtitles>>({
    {Subtitles::kOff, "off"},
    {Subtitles::kCopy, "copy"},
});
inline constexpr std::array kDenoises = std::to_array<Named<Denoise>>({
    {Denoise::kOff, "off"},
    {Denoise::kLight, "light"},
    {Denoise::kMedium, "medium"},
    {Denoise::kStrong, "strong"},
});
inline constexpr std::array kDeinterlaces = std::to_array<Named<Deinterlace>>({
    {Deinterlace::kAuto, "auto"},
    {Deinterlace::kOff, "off"},
    {Deinterlace::kOn, "on"},
});

// "unknown" for a value without a word.
template <class T, std::size_t N>
std::string_view NameIn(const std::array<Named<T>, N>& names, T value) {
  for (const auto& entry : names) {
    if (entry.value == value) return entry.name;
  }
  return "unknown";
}

template <class T, std::size_t N>
std::optional<T> ValueIn(const std::array<Named<T>, N>& names, std::string_view text) {
  for (const auto& entry : names) {
    if (entry.name == text) return entry.value;
  }
  return std::nullopt;
}

}  // namespace gopmill
