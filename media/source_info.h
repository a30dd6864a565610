// SPDX-License-Identifier: Apache-2.0
//
// What probing a source found out: immutable, shared by everything that works on the stream.
//
// Thread-safety: safe once made (const).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/rational.h"
#include "base/status.h"
#include "media/av_ptr.h"
#include "media/movie_tags.h"
#include "media/subtitle_track.h"

namespace gopmill {

// Times of packets are in ticks of `time_base` (seconds), as the container has them.
struct VideoInfo {
  int stream_index = -1;
  std::string codec;                      // FFmpeg's name: "h264"
  std::string language = {}, title = {};  // as the source has them; empty = unknown
  int width = 0, height = 0;              // coded size before rotation, pixels
  Rational sample_aspect{1, 1};
  int rotation = 0;       // clockwise degrees to turn the picture for display: 0, 90, 180, 270
  bool mirrored = false;  // left and right change places before it is turned
  Rational time_base;
  Rational fps;               // nominal frame rate
  bool variable_fps = false;  // the average rate differs from the nominal one
  int bit_depth = 8;
  bool interlaced = false;
  bool captions = false;  // its first pictures have closed captions (ATSC A/53) in them
  bool has_b_frames = false;
  // Build of the x264 that coded it, as its first packet tells and no other; -1 = not by x264.
  int x264_build = -1;
  std::int64_t bitrate = 0;  // bits per second, 0 = unknown
  // HDR10 static metadata (AVMasteringDisplayMetadata, AVContentLightMetadata bytes), empty = none.
  // Frozen here because a stream may carry it on its first frame only.
  std::vector<std::uint8_t> mastering_display, content_light;
  // Codec parameters incl. extradata and colour description. Never null.
  std::shared_ptr<const AVCodecParameters> parameters;
};

// Samples per second that are taken for sound. What is stated beyond is damage or malice: a second
// of it may be one sample, which would be resampled to tens of thousands.
inline constexpr int kLowestSoundRate = 4000, kHighestSoundRate = 384'000;
constexpr bool SoundRateUsable(int rate) {
  return rate >= kLowestSoundRate && rate <= kHighestSoundRate;
}

struct AudioInfo {
  int stream_index = -1;
  std::string codec;
  std::string language = {}, title = {};  // as the source has them; empty = unknown
  bool is_default = false;
  int roles = 0;  // StreamRoles
  int sample_rate = 0;
  int channels = 0;
  Rational time_base;
  std::int64_t bitrate = 0;
  // Nothing comes of it: a live source whose publisher has no such track now (FollowSource).
  bool silent = false;
  std::shared_ptr<const AVCodecParameters> parameters;
};

struct SourceInfo {
  std::string container;        // FFmpeg's demuxer name: "mov,mp4,m4a,3gp,3g2,mj2"
  Rational duration;            // seconds; not valid = unknown
  std::int64_t size_bytes = 0;  // 0 = unknown (a pipe)
  std::int64_t bitrate = 0;     // of the whole file, bits per second, 0 = unknown
  bool seekable = false;
  VideoInfo video;
  std::optional<AudioInfo> audio;       // the track that is read
  std::vector<AudioInfo> more_audio;    // that are read as well
  std::vector<AudioInfo> audio_tracks;  // all that could be, in the order of the source
  // Codecs of the sound tracks that are not taken, with the rate where that is why, or that nothing
  // came while FFmpeg looked at the source.
  std::vector<std::string> unusable_audio;
  std::vector<SubtitleTrack> subtitles;  // tracks of text, without their cues
  MovieTags tags;                        // of a file

  // Of the tracks that are read: `audio` is number 0.
  [[nodiscard]] std::size_t sounds() const { return audio ? 1 + more_audio.size() : 0; }
  [[nodiscard]] const AudioInfo& sound(std::size_t number) const {
    return number == 0 ? *audio : more_audio[number - 1];
  }
};

// Why it has no sound: it has no track of it, or none that is taken.
std::string NoSoundReason(const SourceInfo& source);

// kInvalidArgument of `audio` where it has `count` tracks and another was asked for.
Error NoSuchSoundTrack(const SourceInfo& source, std::size_t count);

// What its pictures and its sounds are coded as, in words: equal where a player would see no
// difference. "h264 1280x720, aac 48000 Hz 2 channels".
std::string FormatOf(const SourceInfo& source);

}  // namespace gopmill
