// SPDX-License-Identifier: Apache-2.0
#include "media/target_params.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/rational.h"
#include "base/words.h"
#include "media/target_names.h"
#include "media/target_text.h"

namespace gopmill {
namespace {

template <class T, std::size_t N>
bool SetNamed(const std::array<Named<T>, N>& names, std::string_view text, std::optional<T>& out) {
  const auto value = ValueIn(names, text);
  if (value) out = value;
  return value.has_value();
}

bool SetWhole(std::string_view text, std::int64_t low, std::int64_t high, std::optional<int>& out) {
  const auto value = ParseWhole(text);
  if (!value || *value < low || *value > high) return false;
  out = static_cast<int>(*value);
  return true;
}

bool SetBits(std::string_view text, std::int64_t low, std::int64_t high,
             std::optional<std::int64_t>& out) {
  const auto value = ParseBits(text);
  if (!value.ok() || *value < low || *value > high) return false;
  out = *value;
  return true;
}

bool SetSize(TargetRequest& request, std::string_view text) {
  const std::size_t cross = text.find('x');
  if (cross == std::string_view::npos) return false;
  std::optional<int> width, height;
  if (!SetWhole(text.substr(0, cross), kMinSide, kMaxSide, width)) return false;
  if (!SetWhole(text.substr(cross + 1), kMinSide, kMaxSide, height)) return false;
  request.width = width;
  request.height = height;
  request.sized = true;
  return true;
}

bool SetRotate(TargetRequest& request, std::string_view text) {
  std::optional<int> degrees;
  if (!SetWhole(text, 0, 270, degrees) || *degrees % 90 != 0) return false;
  request.rotate = degrees;
  return true;
}

bool SetBurn(TargetRequest& request, std::string_view text) {
  if (text != "off") return SetWhole(text, 1, kMaxTextTracks, request.burn);
  request.burn = 0;
  return true;
}

// "2", "2,1", "all": each once.
bool SetAudio(TargetRequest& request, std::string_view text) {
  AudioTracks tracks;
  tracks.all = text == "all";
  std::vector<int> numbers;
  while (!tracks.all && !text.empty()) {
    const std::size_t comma = text.find(',');
    std::optional<int> number;
    if (!SetWhole(text.substr(0, comma), 1, kMaxAudioTrack, number)) return false;
    if (std::ranges::find(numbers, *number) != numbers.end()) return false;
    numbers.push_back(*number);
    if (comma != std::string_view::npos && comma + 1 == text.size()) return false;
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  }
  if (!tracks.all && (numbers.empty() || numbers.size() > kMaxSounds)) return false;
  if (!tracks.all) {
    tracks.first = numbers.front();
    tracks.more.assign(numbers.begin() + 1, numbers.end());
  }
  request.audio = std::move(tracks);
  return true;
}

bool SetFps(TargetRequest& request, std::string_view text) {
  const auto value = ParseFps(text);
  if (!value.ok() || *value < kMinFps || *value > kMaxFps) return false;
  request.fps = *value;
  return true;
}

// A year: far beyond any movie, and far from any overflow.
constexpr Rational kMaxTime{366LL * 24 * 3600, 1};

bool SetTime(std::string_view text, bool zero_allowed, std::optional<Rational>& out) {
  const auto value = ParseSeconds(text);
  if (!value.ok() || *value > kMaxTime) return false;
  if (!zero_allowed && value->num == 0) return false;
  out = *value;
  return true;
}

bool SetUnit(TargetRequest& request, std::string_view text) {
  if (text == "gop") {
    request.unit_seconds = 0;
    return true;
  }
  const auto value = ParseDecimal(text);
  if (!value || value->ToDouble() < kMinUnitSeconds || value->ToDouble() > kMaxUnitSeconds) {
    return false;
  }
  request.unit_seconds = value->ToDouble();
  return true;
}

bool SetClass(TargetRequest& request, std::string_view text) {
  constexpr std::size_t kMaxLength = 32;  // no class has a longer name
  if (!IsPlainName(text) || text.size() > kMaxLength) return false;
  request.service_class = std::string(text);
  return true;
}

bool SetCrf(TargetRequest& request, std::string_view text) {
  const auto value = ParseDecimal(text);
  if (!value || *value < Rational{1, 1} || *value > Rational{63, 1}) return false;
  request.crf = value->ToDouble();
  return true;
}

bool SetOnOff(std::string_view text, std::optional<bool>& out) {
  if (text != "on" && text != "off") return false;
  out = text == "on";
  return true;
}

// One parameter: its documentation and how it is set; false = malformed or out of range.
struct Param {
  ParamDoc doc;
  bool (*set)(TargetRequest& request, std::string_view text);
};

constexpr std::string_view kBitsRange = "10k to 200M bits per second, like 600k or 1.5M";

constexpr std::array kParams = std::to_array<Param>({
    {{"width", "16 to 8192 pixels", "Width of the picture; the height follows if it is not given"},
     [](TargetRequest& r, std::string_view t) { return SetWhole(t, kMinSide, kMaxSide, r.width); }},
    {{"height", "16 to 8192 pixels", "Height of the picture; the width follows if it is not given"},
     [](TargetRequest& r, std::string_view t) {
       return SetWhole(t, kMinSide, kMaxSide, r.height);
     }},
    {{"size", "WIDTHxHEIGHT, each 16 to 8192 pixels, like 640x360", "Width and height at once"},
     SetSize},
    {{"fps", "1 to 240 frames per second, like 24, 23.976 or 30000/1001", "Frame rate"}, SetFps},
    {{"bitrate", kBitsRange, "Mean bit rate of the video"},
     [](TargetRequest& r, std::string_view t) {
       return SetBits(t, kMinBitrate, kMaxBitrate, r.bitrate);
     }},
    {{"vcodec", "h264, hevc, av1, vp9, mpeg4", "Video codec"},
     [](TargetRequest& r, std::string_view t) { return SetNamed(kVideoCodecs, t, r.vcodec); }},
    {{"acodec", "aac, opus, copy, none", "Audio codec; copy keeps the source's packets"},
     [](TargetRequest& r, std::string_view t) { return SetNamed(kAudioCodecs, t, r.acodec); }},
    {{"abitrate", "6k to 1024k bits per second, like 96k", "Bit rate of the audio"},
     [](TargetRequest& r, std::string_view t) {
       return SetBits(t, kMinAudioBitrate, kMaxAudioBitrate, r.abitrate);
     }},
    {{"channels", "1 to 8", "Audio channels; 2 at most unless given, so surround becomes stereo"},
     [](TargetRequest& r, std::string_view t) { return SetWhole(t, 1, 8, r.channels); }},
    {{"audio", "1 to 64, up to 16 of them like 2,1, or all",
      "Which of the source's sound tracks; the best unless given"},
     SetAudio},
    {{"container", "mp4, ts, mkv, webm", "Container of the output"},
     [](TargetRequest& r, std::string_view t) { return SetNamed(kContainers, t, r.container); }},
    {{"preset", "ultrafast, superfast, veryfast, faster, fast, medium, slow, slower, veryslow",
      "Speed of the encoder against quality"},
     [](TargetRequest& r, std::string_view t) { return SetNamed(kPresets, t, r.preset); }},
    {{"profile", "auto, baseline, main, high, high10, main10", "Profile of the video codec"},
     [](TargetRequest& r, std::string_view t) { return SetNamed(kProfiles, t, r.profile); }},
    {{"bframes", "on, off", "B frames in H.264 and HEVC; without them, live streams come sooner"},
     [](TargetRequest& r, std::string_view t) { return SetOnOff(t, r.b_frames); }},
    {{"fit", "fit, stretch, crop, pad", "How the picture meets the size asked for"},
     [](TargetRequest& r, std::string_view t) { return SetNamed(kFits, t, r.fit); }},
    {{"rotate", "0, 90, 180, 270", "Clockwise degrees to turn what the source shows"}, SetRotate},
    {{"deinterlace", "auto, off, on",
      "Which pictures are deinterlaced: those that say that they are interlaced, none, all"},
     [](TargetRequest& r, std::string_view t) {
       return SetNamed(kDeinterlaces, t, r.deinterlace);
     }},
    {{"denoise", "off, light, medium, strong", "Noise taken out of each picture"},
     [](TargetRequest& r, std::string_view t) { return SetNamed(kDenoises, t, r.denoise); }},
    {{"degrain", "off, light, medium, strong", "Noise taken out between pictures"},
     [](TargetRequest& r, std::string_view t) { return SetNamed(kDenoises, t, r.degrain); }},
    {{"burn", "off, or 1 to 96",
      "Which of the source's tracks of subtitles is drawn into the pictures"},
     SetBurn},
    {{"subtitles", "off, copy",
      "Whether the source's text tracks go along (mkv, webm; mp4 as a file)"},
     [](TargetRequest& r, std::string_view t) { return SetNamed(kSubtitles, t, r.subtitles); }},
    {{"start", "a time within the movie, like 90, 1:30 or 1:30.5", "Where to start"},
     [](TargetRequest& r, std::string_view t) { return SetTime(t, true, r.start); }},
    {{"duration", "a time above 0, like 90, 1:30 or 1:30.5", "How much to transcode"},
     [](TargetRequest& r, std::string_view t) { return SetTime(t, false, r.duration); }},
    {{"class", "1 to 32 letters, digits, '-', '_' or '.'", "Service class of the request"},
     SetClass},
    {{"crf", "1 to 51 (av1 and vp9: 63)", "Constant quality instead of a bit rate"}, SetCrf},
    {{"qp", "1 to 51 (av1 and vp9: 63; mpeg4: 31)", "Constant quantizer, no rate control"},
     [](TargetRequest& r, std::string_view t) { return SetWhole(t, 1, 63, r.qp); }},
    {{"maxrate", kBitsRange, "Highest bit rate over the span of bufsize"},
     [](TargetRequest& r, std::string_view t) {
       return SetBits(t, kMinBitrate, kMaxBitrate, r.maxrate);
     }},
    {{"bufsize", "10k to 200M bits, like 600k", "Size of the buffer that maxrate is held over"},
     [](TargetRequest& r, std::string_view t) {
       return SetBits(t, kMinBitrate, kMaxBitrate, r.bufsize);
     }},
    {{"quality", "normal, best",
      "Effort beyond the preset; best measures a movie before its first byte and encodes each "
      "piece up to five times, or twelve where it breaks maxrate"},
     [](TargetRequest& r, std::string_view t) { return SetNamed(kQualities, t, r.quality); }},
    {{"unit", "gop, or 0.2 to 30 seconds", "Length of the pieces that are transcoded in parallel"},
     SetUnit},
});

constexpr auto kDocs = [] {
  std::array<ParamDoc, kParams.size()> docs{};
  for (std::size_t i = 0; i < docs.size(); ++i) docs[i] = kParams[i].doc;
  return docs;
}();

Error UnknownParam(std::string_view name) {
  std::string names;
  for (const ParamDoc& doc : kDocs) {
    if (!names.empty()) names += ", ";
    names += doc.name;
  }
  const std::string quoted = Quoted(name);
  return InvalidArgument(quoted.substr(1, quoted.size() - 2),
                         "There is no parameter " + quoted + ".", names);
}

}  // namespace

Status SetParam(TargetRequest& request, std::string_view name, std::string_view value) {
  const bool one_side = name == "width" || name == "height";
  const bool both_sides = name == "size" && !request.sized && (request.width || request.height);
  if (both_sides || (one_side && request.sized)) {
    return InvalidArgument(std::string(name), "The size is asked for twice.",
                           "either size, or width and height");
  }
  for (const Param& param : kParams) {
    if (param.doc.name != name) continue;
    if (param.set(request, value)) return OkStatus();
    return InvalidArgument(
        std::string(name),
        "The value " + Quoted(value) + " of " + std::string(name) + " is not accepted.",
        std::string(param.doc.accepted));
  }
  return UnknownParam(name);
}

std::span<const ParamDoc> TargetParams() { return kDocs; }

}  // namespace gopmill
