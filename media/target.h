// SPDX-License-Identifier: Apache-2.0
//
// What a client asks for (TargetRequest: everything optional; media/target_params.h fills it from
// text) and what a stream is made to (Target: every field decided), with the accepted ranges and
// the rules that follow from a target alone.
//
// Thread-safety: compatible (plain values).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/rational.h"

namespace gopmill {

enum class VideoCodec { kH264, kHevc, kAv1, kVp9, kMpeg4 };
enum class AudioCodec { kAac, kOpus, kCopy, kNone };
enum class Container { kMp4, kTs, kMkv, kWebm };
// The speed scale of x264; other encoders map it onto theirs (codec/encoder_settings).
enum class Preset {
  kUltrafast,
  kSuperfast,
  kVeryfast,
  kFaster,
  kFast,
  kMedium,
  kSlow,
  kSlower,
  kVeryslow,
};
// kAuto: 8-bit 4:2:0 High for H.264 and MPEG-4; HEVC, AV1 and VP9 keep 10 bits of a 10-bit source.
enum class Profile { kAuto, kBaseline, kMain, kHigh, kHigh10, kMain10 };
// Effort beyond the preset. kBest: a unit is encoded until its bits are right at one constant
// quality.
enum class Quality { kNormal, kBest };
// How the picture meets the requested box. kFit: inside it, keeping the aspect ratio. kStretch:
// exactly it. kCrop: fill it and cut what is over. kPad: inside it, with black bars.
enum class Fit { kFit, kStretch, kCrop, kPad };
// How much noise is taken out.
enum class Denoise { kOff, kLight, kMedium, kStrong };
// Pictures on each side that denoising in time looks at.
int TemporalRadius(Denoise strength);
// Which pictures are deinterlaced: those of a source that says it has some, and of them those that
// say it of themselves; none; each.
enum class Deinterlace { kAuto, kOff, kOn };
// What becomes of the source's tracks of text.
enum class Subtitles { kOff, kCopy };
enum class RateMode { kBitrate, kCrf, kQp };

std::string_view Name(VideoCodec value);
std::string_view Name(AudioCodec value);
std::string_view Name(Container value);
std::string_view Name(Preset value);
std::string_view Name(Profile value);
std::string_view Name(Fit value);
std::string_view Name(Quality value);
std::string_view Name(Denoise value);
std::string_view Name(Deinterlace value);
std::string_view Name(Subtitles value);

// Accepted ranges; outside them a request is refused with a message that names them.
inline constexpr int kMinSide = 16;
inline constexpr int kMaxSide = 8192;
inline constexpr Rational kMinFps{1, 1};
inline constexpr Rational kMaxFps{240, 1};
inline constexpr std::int64_t kMinBitrate = 10'000;          // bits per second
inline constexpr std::int64_t kMaxBitrate = 200'000'000;     // bits per second
inline constexpr std::int64_t kMaxAv1Bitrate = 100'000'000;  // SVT-AV1 takes no more
inline constexpr std::int64_t kMinAudioBitrate = 6'000;      // bits per second
inline constexpr std::int64_t kMaxAudioBitrate = 1'024'000;
inline constexpr int kMaxTextTracks = 96;  // in a movie and beside it
inline constexpr double kDefaultUnitSeconds = 2.0;
inline constexpr double kMinUnitSeconds = 0.2;
inline constexpr double kMaxUnitSeconds = 30.0;

// Which of the source's sound tracks, from 1.
struct AudioTracks {
  int first = 0;               // 0 = the best
  std::vector<int> more = {};  // behind it, in this order
  bool all = false;            // all others behind it, in the order of the source
  bool operator==(const AudioTracks&) const = default;
  [[nodiscard]] bool several() const { return all || !more.empty(); }
};
inline constexpr int kMaxAudioTrack = 64;      // the number of a source's track
inline constexpr std::size_t kMaxSounds = 16;  // tracks of one output

// A request, as far as it was given. Unset = the source's value or the default.
struct TargetRequest {
  std::optional<int> width, height;                       // pixels
  bool sized = false;                                     // both of them by "size"
  std::optional<Rational> fps;                            // frames per second
  std::optional<std::int64_t> bitrate, maxrate, bufsize;  // bits per second, bits for bufsize
  std::optional<double> crf;
  std::optional<int> qp;
  std::optional<VideoCodec> vcodec;
  std::optional<AudioCodec> acodec;
  std::optional<std::int64_t> abitrate;  // bits per second
  std::optional<int> channels;
  AudioTracks audio;
  std::optional<Container> container;
  std::optional<Preset> preset;
  std::optional<Quality> quality;
  std::optional<Profile> profile;
  std::optional<Fit> fit;
  std::optional<int> rotate;  // 0, 90, 180, 270
  std::optional<Deinterlace> deinterlace;
  std::optional<Denoise> denoise, degrain;
  std::optional<int> burn;  // track of text, from 1; 0 and unset = none
  std::optional<Subtitles> subtitles;
  std::optional<Rational> start, duration;  // seconds
  std::optional<double> unit_seconds;       // 0 = one source GOP per unit
  std::optional<std::string> service_class;
  std::optional<bool> b_frames;  // unset = as the protocol has them
  bool whole_units = false;      // not for clients: no low delay (HasLowDelay)
};

// Asks for no sound, and for nothing that sound would have.
void LeaveSoundOut(TargetRequest& request);

// How a sound track is coded; all 0 with kCopy.
struct SoundTarget {
  std::int64_t abitrate = 0;  // bits per second
  int channels = 0;
  int sample_rate = 0;       // per second
  std::uint64_t layout = 0;  // loudspeakers of the channels (media/sound_layout.h)
  bool operator==(const SoundTarget&) const = default;
};

// A stream's target with everything decided (media/resolve_target makes it from a request and the
// source). Sizes are even and in display orientation with square or stated sample aspect ratio.
struct Target {
  VideoCodec vcodec = VideoCodec::kH264;
  Preset preset = Preset::kVeryfast;
  Quality quality = Quality::kNormal;
  Profile profile = Profile::kAuto;
  int width = 0, height = 0;  // coded size, pixels, even
  Fit fit = Fit::kFit;
  int rotate = 0;  // clockwise degrees to turn what the source shows: 0, 90, 180, 270
  Deinterlace deinterlace = Deinterlace::kAuto;
  Denoise denoise = Denoise::kOff;  // of each picture by itself
  Denoise degrain = Denoise::kOff;  // between pictures
  int burn = 0;  // track of text that is drawn into the pictures, from 1; 0 = none
  Subtitles subtitles = Subtitles::kOff;
  Rational fps;  // output frames per second
  RateMode rate_mode = RateMode::kBitrate;
  std::int64_t bitrate = 0;               // bits per second, kBitrate only
  double crf = 0;                         // kCrf only
  int qp = 0;                             // kQp only
  std::int64_t maxrate = 0, bufsize = 0;  // bits/s and bits; 0 = no VBV
  AudioCodec acodec = AudioCodec::kAac;   // kNone also when the source has no audio
  std::int64_t abitrate = 0;              // bits per second
  int channels = 0;                       // output channels; 0 with kCopy and kNone
  int sample_rate = 0;                    // output samples per second; 0 with kCopy and kNone
  std::uint64_t layout = 0;               // of the channels; 0 with kCopy and kNone
  std::vector<SoundTarget> more_sounds;   // those of SourceInfo::more_audio; none with kNone
  Container container = Container::kMp4;
  Rational start{0, 1};                       // seconds into the source
  Rational duration;                          // seconds; not valid = to the end
  double unit_seconds = kDefaultUnitSeconds;  // 0 = one source GOP per unit
  std::string service_class;                  // empty = default
  bool whole_units = false;                   // of a live source; see HasLowDelay
  bool b_frames = true;                       // there may be some

  // Of the source's tracks that are read (SourceInfo::sound).
  [[nodiscard]] SoundTarget sound(std::size_t number) const {
    return number == 0 ? SoundTarget{abitrate, channels, sample_rate, layout}
                       : more_sounds[number - 1];
  }
};

// The part of the source that is asked for, microseconds since its zero.
struct SourceClip {
  std::int64_t start_us = 0;
  std::int64_t end_us = std::numeric_limits<std::int64_t>::max();
};
SourceClip ClipOf(const Target& target);

// Whether an encoder here makes B frames, unless they are turned off.
bool HasBFrames(VideoCodec codec, Preset preset, Profile profile);

// Whether its pictures have limited range always: MPEG-4 players do not look for another.
bool HasLimitedRange(VideoCodec codec);

// Whether pictures of a live source are worked on while their GOP still arrives
// (StreamPlan::low_delay). Only x264 goes on with a GOP at a known delay; and what has to be judged
// as a whole (a cap that a single GOP may well exceed, quality=best) must be complete first. A cap
// with room enough is left to x264's own buffer model, and to the rate of the GOP, which stays
// below it: very likely, not proved.
bool HasLowDelay(const Target& target);

}  // namespace gopmill
