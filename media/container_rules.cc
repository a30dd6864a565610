// SPDX-License-Identifier: Apache-2.0
#include "media/container_rules.h"

#include <algorithm>
#include <span>
#include <string>

namespace gopmill {
namespace {

// What one container takes. Spans point at static arrays.
struct Rule {
  std::span<const VideoCodec> video;
  std::span<const AudioCodec> audio;
  std::span<const std::string_view> copied;  // FFmpeg's names
};

constexpr VideoCodec kMp4Video[] = {VideoCodec::kH264, VideoCodec::kHevc, VideoCodec::kAv1,
                                    VideoCodec::kVp9, VideoCodec::kMpeg4};
constexpr VideoCodec kTsVideo[] = {VideoCodec::kH264, VideoCodec::kHevc, VideoCodec::kMpeg4};
constexpr VideoCodec kWebMVideo[] = {VideoCodec::kVp9, VideoCodec::kAv1};
constexpr AudioCodec kAllAudio[] = {AudioCodec::kAac, AudioCodec::kOpus};
constexpr AudioCodec kWebMAudio[] = {AudioCodec::kOpus};

constexpr std::string_view kMp4Copied[] = {"aac", "opus", "mp3", "ac3", "eac3", "flac", "alac"};
constexpr std::string_view kTsCopied[] = {"aac", "opus", "mp3", "mp2", "ac3", "eac3"};
constexpr std::string_view kMkvCopied[] = {"aac",  "opus", "mp3",       "mp2",       "ac3",
                                           "eac3", "flac", "vorbis",    "pcm_s16le", "pcm_s24le",
                                           "dts",  "alac", "pcm_f32le", "truehd"};
constexpr std::string_view kWebMCopied[] = {"opus", "vorbis"};

Rule RuleOf(Container container) {
  switch (container) {
    case Container::kMp4: return {kMp4Video, kAllAudio, kMp4Copied};
    case Container::kTs: return {kTsVideo, kAllAudio, kTsCopied};
    case Container::kMkv: return {kMp4Video, kAllAudio, kMkvCopied};
    case Container::kWebm: return {kWebMVideo, kWebMAudio, kWebMCopied};
  }
  return {};
}

std::string_view Text(std::string_view name) { return name; }
std::string_view Text(VideoCodec codec) { return Name(codec); }
std::string_view Text(AudioCodec codec) { return Name(codec); }

template <class T>
std::string List(std::span<const T> values) {
  std::string text;
  for (const T& value : values) {
    if (!text.empty()) text += ", ";
    text += Text(value);
  }
  return text;
}

template <class T>
bool Has(std::span<const T> values, const T& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

std::string Refusal(Container container, std::string_view what, std::string_view codec) {
  return "The container " + std::string(Name(container)) + " cannot hold " + std::string(codec) +
         " " + std::string(what) + "; choose another container or another codec.";
}

}  // namespace

Status CheckContainer(Container container, VideoCodec video, AudioCodec audio) {
  const Rule rule = RuleOf(container);
  const std::string with = " with container=" + std::string(Name(container));
  if (!Has(rule.video, video)) {
    return InvalidArgument("vcodec", Refusal(container, "video", Name(video)),
                           List(rule.video) + with);
  }
  const bool free = audio == AudioCodec::kNone || audio == AudioCodec::kCopy;
  if (!free && !Has(rule.audio, audio)) {
    return InvalidArgument("acodec", Refusal(container, "audio", Name(audio)),
                           List(rule.audio) + ", copy, none" + with);
  }
  return OkStatus();
}

Status CheckCopy(Container container, std::string_view source_codec) {
  const Rule rule = RuleOf(container);
  if (Has(rule.copied, source_codec)) return OkStatus();
  return InvalidArgument("acodec", Refusal(container, "audio", source_codec),
                         List(rule.audio) + ", none; copy for " + List(rule.copied) + " sources");
}

AudioCodec DefaultAudioCodec(Container container) {
  return container == Container::kWebm ? AudioCodec::kOpus : AudioCodec::kAac;
}

VideoCodec DefaultVideoCodec(Container container) {
  return container == Container::kWebm ? VideoCodec::kVp9 : VideoCodec::kH264;
}

}  // namespace gopmill
