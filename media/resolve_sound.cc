// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <string>

#include "media/container_rules.h"
#include "media/resolution.h"
#include "media/sound_layout.h"
#include "media/target_text.h"

namespace gopmill {
namespace {

constexpr std::int64_t kDefaultBitsPerChannel = 64'000;
constexpr int kOpusRate = 48'000;

// As it was asked for.
std::string TracksText(const AudioTracks& wanted) {
  if (wanted.first == 0) return wanted.all ? "all" : "";
  std::string text = std::to_string(wanted.first);
  for (const int number : wanted.more) text += "," + std::to_string(number);
  return text;
}

// What was said of sound that there will be none of.
void ReportLeftOut(Resolution& r) {
  const TargetRequest& request = r.request;
  const char* reason = "the sound is left out with acodec=none";
  if (request.channels) r.Report("channels", std::to_string(*request.channels), "0", reason);
  if (request.abitrate) r.Report("abitrate", std::to_string(*request.abitrate), "0", reason);
  const std::string tracks = TracksText(request.audio);
  if (!tracks.empty()) r.Report("audio", tracks, "none", reason);
}

Status ResolveNoAudio(Resolution& r) {
  Target& target = r.target();
  // Sound that is there and left out is said also to whom has not asked for any codec.
  const TargetRequest& request = r.request;
  const bool told =
      request.acodec || request.abitrate || request.channels || !r.source.unusable_audio.empty();
  if (!r.source.audio && told && target.acodec != AudioCodec::kNone) {
    r.Report("acodec", std::string(Name(target.acodec)), "none", NoSoundReason(r.source));
  } else if (target.acodec == AudioCodec::kNone) {
    ReportLeftOut(r);
  }
  target.acodec = AudioCodec::kNone;
  return OkStatus();
}

Status ResolveCopy(Resolution& r) {
  if (r.request.abitrate || r.request.channels) {
    return InvalidArgument(r.request.abitrate ? "abitrate" : "channels",
                           "Copied audio stays as it is.",
                           "no abitrate and no channels with acodec=copy");
  }
  for (std::size_t i = 0; i < r.source.sounds(); ++i) {
    GOPMILL_RETURN_IF_ERROR(CheckCopy(r.target().container, r.source.sound(i).codec));
  }
  r.target().more_sounds.resize(r.source.more_audio.size());
  return OkStatus();
}

int AacRate(int source_rate) {
  constexpr int kRates[] = {96000, 88200, 64000, 48000, 44100, 32000,
                            24000, 22050, 16000, 12000, 11025, 8000};
  const bool kept =
      std::find(std::begin(kRates), std::end(kRates), source_rate) != std::end(kRates);
  return kept ? source_rate : kOpusRate;
}

void ResolveChannels(Resolution& r) {
  const int had = std::max(r.source.audio->channels, 1);
  Target& target = r.target();
  if (!r.request.channels) {
    target.channels = std::min(had, 2);
    if (had > 2) {
      r.Report("channels", std::to_string(had), "2",
               "stereo plays everywhere; channels=N keeps more");
    }
    return;
  }
  target.channels = std::min(*r.request.channels, std::max(had, 2));
  if (target.channels != *r.request.channels) {
    r.Report("channels", std::to_string(*r.request.channels), std::to_string(target.channels),
             had < 2 ? "two channels at most are made of one" : "the source has no more channels");
  }
}

// Bits per second that the codec can spend on so many channels.
std::int64_t MaxAudioRate(AudioCodec codec, const SoundTarget& sound) {
  constexpr std::int64_t kAacBitsPerFrame = 6144;  // per channel and 1,024 samples
  constexpr std::int64_t kOpusBitsPerChannel = 256'000;
  if (codec == AudioCodec::kOpus) return kOpusBitsPerChannel * sound.channels;
  return kAacBitsPerFrame * sound.channels * sound.sample_rate / 1024;
}

// What FFmpeg's AAC encoder gets along with, roughly (measured with music and noise, 8 to 96 kHz,
// one to six channels): asked for less, it still spends as much. A single channel needs more.
std::int64_t MinAudioRate(AudioCodec codec, const SoundTarget& sound) {
  if (codec == AudioCodec::kOpus) return kMinAudioBitrate;
  const std::int64_t channel = 4000 + sound.sample_rate / 6;
  const std::int64_t rate = sound.channels == 1 ? channel * 5 / 4 : channel * sound.channels;
  return rate - rate % 1000;
}

SoundTarget SoundFor(AudioCodec codec, const AudioInfo& audio, int channels,
                     const TargetRequest& request) {
  SoundTarget sound{.channels = channels};
  sound.sample_rate = codec == AudioCodec::kOpus ? kOpusRate : AacRate(audio.sample_rate);
  sound.layout = CodedLayout(codec, channels, StatedLayout(audio));
  sound.abitrate = std::clamp(request.abitrate.value_or(kDefaultBitsPerChannel * channels),
                              MinAudioRate(codec, sound), MaxAudioRate(codec, sound));
  return sound;
}

void ReportLayout(Resolution& r) {
  const std::uint64_t had = StatedLayout(*r.source.audio);
  const Target& target = r.target();
  const bool as_many = r.request.channels && r.source.audio->channels == target.channels;
  if (!as_many || had == 0 || SameSpeakers(had, target.layout)) return;
  r.Report("channels", LayoutName(had), LayoutName(target.layout),
           std::string(Name(target.acodec)) + " has no layout " + LayoutName(had));
}

void ReportAudioRate(Resolution& r) {
  if (!r.request.abitrate || r.target().abitrate == *r.request.abitrate) return;
  const bool less = r.target().abitrate < *r.request.abitrate;
  r.Report("abitrate", std::to_string(*r.request.abitrate), std::to_string(r.target().abitrate),
           less ? "the audio codec cannot use more for so many channels"
                : "the audio codec takes as much at least for these channels and sample rate");
}

// Tracks behind the first. What they are changed to is told of the first alone.
void ResolveMoreSounds(Resolution& r) {
  Target& target = r.target();
  for (const AudioInfo& audio : r.source.more_audio) {
    const int had = std::max(audio.channels, 1);
    const int channels =
        r.request.channels ? std::min(*r.request.channels, std::max(had, 2)) : std::min(had, 2);
    target.more_sounds.push_back(SoundFor(target.acodec, audio, channels, r.request));
  }
}

void ReportSoundsLeftOut(Resolution& r) {
  if (!r.request.audio.all) return;
  const std::size_t had = r.source.audio_tracks.size() + r.source.unusable_audio.size();
  const std::size_t has = r.source.sounds();
  if (has == had) return;
  r.Report("audio", "all " + std::to_string(had), std::to_string(has),
           r.source.unusable_audio.empty() ? "a stream has so many sound tracks at most"
                                           : "the others are of codecs that are not supported");
}

// Recorders, and MXF always, write each channel as a track of its own. Only one of them is heard.
void ReportChannelsLeftOut(Resolution& r) {
  const AudioInfo& audio = *r.source.audio;
  const AudioTracks& wanted = r.request.audio;
  const bool asked = wanted.first > 0 || wanted.all || !wanted.more.empty();
  if (asked || audio.channels != 1 || !audio.codec.starts_with("pcm_")) return;
  const auto alike = std::ranges::count_if(r.source.audio_tracks, [&](const AudioInfo& other) {
    return other.channels == 1 && other.codec == audio.codec && other.roles == audio.roles &&
           other.sample_rate == audio.sample_rate && other.language == audio.language;
  });
  if (alike < 2) return;
  r.Report("audio", std::to_string(alike) + " tracks of one channel", "1",
           "tracks are not put together; audio=N takes another one");
}

}  // namespace

Status ResolveSound(Resolution& r) {
  Target& target = r.target();
  if (!r.source.audio || target.acodec == AudioCodec::kNone) return ResolveNoAudio(r);
  ReportSoundsLeftOut(r);
  ReportChannelsLeftOut(r);
  if (target.acodec == AudioCodec::kCopy) return ResolveCopy(r);
  ResolveChannels(r);
  const SoundTarget first = SoundFor(target.acodec, *r.source.audio, target.channels, r.request);
  target.sample_rate = first.sample_rate;
  target.abitrate = first.abitrate;
  target.layout = first.layout;
  ReportLayout(r);
  ReportAudioRate(r);
  ResolveMoreSounds(r);
  return OkStatus();
}

}  // namespace gopmill
