// SPDX-License-Identifier: Apache-2.0
#include "media/resolve_target.h"

#include <fmt/format.h>

extern "C" {
#include <libavutil/rational.h>
}

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "media/container_rules.h"
#include "media/output_size.h"
#include "media/resolution.h"
#include "media/target_text.h"

namespace gopmill {
namespace {

constexpr Rational kMaxVariableFps{60, 1};
constexpr Rational kFallbackFps{25, 1};
// Level 6.2 of H.264 and HEVC; the other codecs' highest levels are the same or above.
constexpr std::int64_t kMaxPixels = 8192 * 4352;
constexpr std::int64_t kMaxPixelRate = kMaxPixels * 120;
// MPEG-4 part 2 writes sizes with 13 bits and the clock with 16.
constexpr int kMaxMpeg4Side = 8190;
constexpr std::int64_t kMaxMpeg4Clock = 65535;
constexpr int kMinAv1Side = 64;

// ---- Codecs and container -------------------------------------------------------------------

// What the codec of the pictures is asked to be, as far as a request alone tells.
struct VideoChoice {
  Container container;
  VideoCodec codec;
  Preset preset;
  Profile profile;
};

// SVT-AV1 has further ones, which need tables that all encoders of a process share (av1_gate.h).
constexpr Preset kSlowestOfAv1 = Preset::kSlow;

VideoChoice ChoiceOf(const TargetRequest& request) {
  const Container container = request.container.value_or(Container::kMp4);
  return {.container = container,
          .codec = request.vcodec.value_or(DefaultVideoCodec(container)),
          .preset = request.preset.value_or(Preset::kVeryfast),
          .profile = request.profile.value_or(Profile::kAuto)};
}

Status ResolveCodecs(Resolution& r) {
  Target& target = r.target();
  const VideoChoice choice = ChoiceOf(r.request);
  target.container = choice.container;
  target.vcodec = choice.codec;
  target.acodec = r.request.acodec.value_or(DefaultAudioCodec(target.container));
  GOPMILL_RETURN_IF_ERROR(CheckContainer(target.container, target.vcodec, target.acodec));
  target.preset = choice.preset;
  if (choice.codec == VideoCodec::kAv1 && choice.preset > kSlowestOfAv1) {
    target.preset = kSlowestOfAv1;
    r.Report("preset", std::string(Name(choice.preset)), std::string(Name(kSlowestOfAv1)),
             "AV1 is not made with more effort here");
  }
  target.quality = r.request.quality.value_or(Quality::kNormal);
  target.profile = choice.profile;
  target.fit = r.request.fit.value_or(Fit::kFit);
  target.rotate = r.request.rotate.value_or(0);
  target.deinterlace = r.request.deinterlace.value_or(Deinterlace::kAuto);
  target.denoise = r.request.denoise.value_or(Denoise::kOff);
  target.degrain = r.request.degrain.value_or(Denoise::kOff);
  target.burn = r.request.burn.value_or(0);
  target.subtitles = r.request.subtitles.value_or(Subtitles::kOff);
  if (target.subtitles == Subtitles::kCopy && target.container == Container::kTs) {
    return InvalidArgument("subtitles", "Text cannot be put into MPEG-TS.",
                           "off, or container=mp4, mkv or webm");
  }
  target.unit_seconds = r.request.unit_seconds.value_or(kDefaultUnitSeconds);
  target.service_class = r.request.service_class.value_or("");
  target.whole_units = r.request.whole_units;
  target.b_frames = MayHaveBFrames(r.request);
  if (r.request.b_frames == true && !target.b_frames) {
    r.Report("bframes", "on", "off", "this codec, preset or profile has none");
  }
  return CheckProfile(target.vcodec, target.profile);
}

// ---- Time -----------------------------------------------------------------------------------

Status ResolveTime(Resolution& r) {
  Target& target = r.target();
  const Rational length = r.source.duration;
  target.start = r.request.start.value_or(Rational{0, 1});
  target.duration = r.request.duration.value_or(Rational{});
  if (!length.positive()) return OkStatus();
  if (target.start >= length) {
    return InvalidArgument(
        "start", "The start at " + DecimalText(target.start) + " s is not within the source.",
        "less than " + DecimalText(length) + " seconds");
  }
  const Rational rest = Difference(length, target.start);
  if (target.duration.valid() && target.duration > rest) {
    r.Report("duration", DecimalText(target.duration), DecimalText(rest), "the source ends there");
    target.duration = {};
  }
  return OkStatus();
}

// ---- Picture --------------------------------------------------------------------------------

// The nearest that the codec has to the source's own, which may be a mean of many digits.
Rational RateFor(VideoCodec codec, Rational fps) {
  if (codec != VideoCodec::kMpeg4 || fps.num <= kMaxMpeg4Clock) return fps;
  int num = 0, den = 1;
  av_reduce(&num, &den, fps.num, fps.den, kMaxMpeg4Clock);
  return {num, den};
}

std::string FractionText(Rational value) { return fmt::format("{}/{}", value.num, value.den); }

void ResolveFps(Resolution& r) {
  Target& target = r.target();
  const VideoInfo& video = r.source.video;
  if (r.request.fps) {
    target.fps = *r.request.fps;
    return;
  }
  if (!video.fps.positive()) {
    target.fps = kFallbackFps;
    r.Report("fps", "unknown", DecimalText(target.fps), "the source states no frame rate");
    return;
  }
  const Rational highest = video.variable_fps ? kMaxVariableFps : kMaxFps;
  const Rational within = std::clamp(video.fps, kMinFps, highest);
  target.fps = RateFor(target.vcodec, within);
  if (video.variable_fps) {
    r.Report("fps", "variable", DecimalText(target.fps),
             "the source's frame rate varies; the output has its nominal rate, 60 at most");
  } else if (within != video.fps) {
    r.Report("fps", DecimalText(video.fps), DecimalText(target.fps),
             "frame rates are limited to 1 to 240 per second");
  } else if (target.fps != within) {
    r.Report("fps", FractionText(within), FractionText(target.fps),
             "mpeg4 takes no finer fraction");
  }
}

Status CheckMpeg4(const Target& target) {
  if (target.vcodec != VideoCodec::kMpeg4) return OkStatus();
  if (target.width > kMaxMpeg4Side || target.height > kMaxMpeg4Side) {
    return InvalidArgument("size", "The picture is too large for mpeg4.",
                           "sides up to 8190 pixels with vcodec=mpeg4");
  }
  if (target.fps.num > kMaxMpeg4Clock) {
    return InvalidArgument("fps", "This frame rate is too fine a fraction for mpeg4.",
                           "a numerator up to 65535 with vcodec=mpeg4");
  }
  return OkStatus();
}

// What SVT-AV1 asks for, and it says so only when it is opened.
Status CheckAv1(const Target& target) {
  if (target.vcodec != VideoCodec::kAv1) return OkStatus();
  if (target.width >= kMinAv1Side && target.height >= kMinAv1Side) return OkStatus();
  return InvalidArgument("size",
                         "A picture of " + std::to_string(target.width) + "x" +
                             std::to_string(target.height) + " is too small for av1.",
                         "sides from 64 pixels on with vcodec=av1");
}

Status ResolvePicture(Resolution& r) {
  Target& target = r.target();
  const VideoInfo& video = r.source.video;
  if (video.width <= 0 || video.height <= 0) {
    return Error{.code = Code::kCorrupt, .message = "The source's video has no size."};
  }
  OutputSize size = ChooseOutputSize(r.request, video);
  target.width = size.width;
  target.height = size.height;
  for (Adjustment& each : size.adjustments) r.result.adjustments.push_back(std::move(each));
  ResolveFps(r);

  const std::int64_t pixels = std::int64_t{target.width} * target.height;
  if (pixels > kMaxPixels) {
    return InvalidArgument("size",
                           "A picture of " + std::to_string(target.width) + "x" +
                               std::to_string(target.height) + " is beyond the highest level.",
                           "at most 35651584 pixels, like 8192x4352");
  }
  if (static_cast<double>(pixels) * target.fps.ToDouble() > static_cast<double>(kMaxPixelRate)) {
    return InvalidArgument("fps", "Size and frame rate together are beyond the highest level.",
                           "at most 8192x4352 at 120 frames per second, or as many pixels");
  }
  GOPMILL_RETURN_IF_ERROR(CheckAv1(target));
  return CheckMpeg4(target);
}

// ---- Rate control ---------------------------------------------------------------------------

Status CheckExclusive(const TargetRequest& request) {
  const int given =
      int{request.bitrate.has_value()} + int{request.crf.has_value()} + int{request.qp.has_value()};
  if (given <= 1) return OkStatus();
  const char* name = request.crf ? "crf" : "qp";
  return InvalidArgument(name, "bitrate, crf and qp exclude each other.", "one of them");
}

// From 1: 0 is lossless, which these profiles do not have, or means "not given".
Status CheckQuality(VideoCodec codec, const TargetRequest& request) {
  const bool wide = codec == VideoCodec::kAv1 || codec == VideoCodec::kVp9;
  const bool mpeg4 = codec == VideoCodec::kMpeg4;
  const std::string with = " with vcodec=" + std::string(Name(codec));
  if (request.crf && mpeg4) {
    return InvalidArgument("crf", "mpeg4 has no constant-quality mode.", "bitrate or qp" + with);
  }
  if (request.crf && !wide && *request.crf > 51) {
    return InvalidArgument("crf", "This crf is out of range.", "1 to 51" + with);
  }
  const int highest = mpeg4 ? 31 : (wide ? 63 : 51);
  if (request.qp && *request.qp > highest) {
    return InvalidArgument("qp", "This qp is out of range.",
                           "1 to " + std::to_string(highest) + with);
  }
  return OkStatus();
}

// SVT-AV1 says what it does not take only when it is opened.
Status ResolveBitrate(Resolution& r) {
  Target& target = r.target();
  target.rate_mode = RateMode::kBitrate;
  target.bitrate =
      r.request.bitrate.value_or(DefaultBitrate(r.source, target.width, target.height, target.fps));
  if (target.vcodec != VideoCodec::kAv1 || target.bitrate <= kMaxAv1Bitrate) return OkStatus();
  if (r.request.bitrate) {
    return InvalidArgument(
        "bitrate", "This bit rate is too high for av1.",
        std::to_string(kMinBitrate) + " to " + std::to_string(kMaxAv1Bitrate) + " with vcodec=av1");
  }
  r.Report("bitrate", std::to_string(target.bitrate), std::to_string(kMaxAv1Bitrate),
           "the source's bit rate is too high for av1");
  target.bitrate = kMaxAv1Bitrate;
  return OkStatus();
}

// The buffer may last one unit at most: every unit is encoded by an encoder of its own.
void ResolveBuffer(Resolution& r) {
  Target& target = r.target();
  const double unit = target.unit_seconds > 0 ? target.unit_seconds : 1.0;
  const auto rate = static_cast<double>(target.maxrate);
  const auto longest = static_cast<std::int64_t>(std::llround(rate * unit));
  const auto usual = static_cast<std::int64_t>(std::llround(rate * std::min(unit, 1.0)));
  target.bufsize = r.request.bufsize.value_or(usual);
  if (target.bufsize > longest) {
    r.Report("bufsize", std::to_string(target.bufsize), std::to_string(longest),
             "the buffer can last one unit at most");
    target.bufsize = longest;
  }
}

Status ResolveVbv(Resolution& r) {
  Target& target = r.target();
  const TargetRequest& request = r.request;
  if (!request.maxrate && !request.bufsize) return OkStatus();
  if (target.rate_mode == RateMode::kQp) {
    return InvalidArgument(request.maxrate ? "maxrate" : "bufsize",
                           "A constant quantizer knows no highest bit rate.",
                           "maxrate and bufsize with bitrate or crf");
  }
  if (!request.maxrate && target.rate_mode == RateMode::kCrf) {
    return InvalidArgument("bufsize", "With crf, bufsize needs a maxrate.", "maxrate and bufsize");
  }
  target.maxrate = request.maxrate.value_or(target.bitrate);
  if (target.rate_mode == RateMode::kBitrate && target.maxrate < target.bitrate) {
    if (request.bitrate) {
      return InvalidArgument("maxrate", "maxrate is below the bit rate.",
                             "at least " + std::to_string(target.bitrate));
    }
    // Nobody named a bit rate: the source's gives way to the limit.
    r.Report("bitrate", std::to_string(target.bitrate), std::to_string(target.maxrate),
             "the source's bit rate is above maxrate");
    target.bitrate = target.maxrate;
  }
  ResolveBuffer(r);
  return OkStatus();
}

void ResolveCrf(Resolution& r) {
  Target& target = r.target();
  const double asked = *r.request.crf;
  const bool whole = target.vcodec == VideoCodec::kAv1 || target.vcodec == VideoCodec::kVp9;
  target.crf = whole ? std::round(asked) : asked;
  if (target.crf == asked) return;
  r.Report("crf", fmt::format("{:g}", asked), fmt::format("{:g}", target.crf),
           "this codec takes whole numbers");
}

Status ResolveRate(Resolution& r) {
  Target& target = r.target();
  GOPMILL_RETURN_IF_ERROR(CheckExclusive(r.request));
  GOPMILL_RETURN_IF_ERROR(CheckQuality(target.vcodec, r.request));
  if (r.request.crf) {
    target.rate_mode = RateMode::kCrf;
    ResolveCrf(r);
  } else if (r.request.qp) {
    target.rate_mode = RateMode::kQp;
    target.qp = *r.request.qp;
  } else {
    GOPMILL_RETURN_IF_ERROR(ResolveBitrate(r));
  }
  return ResolveVbv(r);
}

// The bit rate of the source's video, measured or estimated.
double SourceBitrate(const SourceInfo& source, double pixel_rate) {
  constexpr double kBitsPerPixel = 0.1;
  if (source.video.bitrate > 0) return static_cast<double>(source.video.bitrate);
  const std::int64_t audio = source.audio ? source.audio->bitrate : 0;
  if (source.bitrate > audio) return static_cast<double>(source.bitrate - audio);
  return kBitsPerPixel * pixel_rate;
}

}  // namespace

std::vector<Profile> ProfilesOf(VideoCodec codec) {
  switch (codec) {
    case VideoCodec::kH264:
      return {Profile::kAuto, Profile::kBaseline, Profile::kMain, Profile::kHigh, Profile::kHigh10};
    case VideoCodec::kHevc: return {Profile::kAuto, Profile::kMain, Profile::kMain10};
    case VideoCodec::kAv1: return {Profile::kAuto, Profile::kMain};  // of eight and of ten bits
    case VideoCodec::kVp9:
    case VideoCodec::kMpeg4: break;
  }
  return {Profile::kAuto};
}

Status CheckProfile(VideoCodec codec, Profile profile) {
  const std::vector<Profile> accepted = ProfilesOf(codec);
  if (std::ranges::find(accepted, profile) != accepted.end()) return OkStatus();
  std::string names;
  for (const Profile each : accepted) {
    names += (names.empty() ? "" : ", ") + std::string(Name(each));
  }
  return InvalidArgument(
      "profile",
      std::string(Name(codec)) + " has no profile " + std::string(Name(profile)) + " here.",
      names + " with vcodec=" + std::string(Name(codec)));
}

std::int64_t DefaultBitrate(const SourceInfo& source, int width, int height, Rational fps) {
  constexpr double kExponent = 0.75;
  constexpr double kMostBitsPerPixel = 0.5;
  const DisplaySize display = DisplaySizeOf(source.video);
  const double source_fps =
      source.video.fps.positive() ? source.video.fps.ToDouble() : kFallbackFps.ToDouble();
  const double had = display.width.ToDouble() * display.height.ToDouble() * source_fps;
  const double gets = static_cast<double>(width) * height * fps.ToDouble();
  const double ratio = had > 0 ? std::min(1.0, gets / had) : 1.0;
  const double rate = SourceBitrate(source, had) * std::pow(ratio, kExponent);
  const auto whole = static_cast<std::int64_t>(std::min(rate, kMostBitsPerPixel * gets));
  return std::clamp(whole - whole % 1000, kMinBitrate, kMaxBitrate);
}

bool MayHaveBFrames(const TargetRequest& request, bool unless_said) {
  const VideoChoice choice = ChoiceOf(request);
  return HasBFrames(choice.codec, choice.preset, choice.profile) &&
         request.b_frames.value_or(unless_said);
}

Result<ResolvedTarget> ResolveTarget(const TargetRequest& request, const SourceInfo& source) {
  Resolution resolution{request, source};
  GOPMILL_RETURN_IF_ERROR(ResolveCodecs(resolution));
  GOPMILL_RETURN_IF_ERROR(ResolveTime(resolution));
  GOPMILL_RETURN_IF_ERROR(ResolvePicture(resolution));
  GOPMILL_RETURN_IF_ERROR(ResolveRate(resolution));
  GOPMILL_RETURN_IF_ERROR(ResolveSound(resolution));
  return std::move(resolution.result);
}

}  // namespace gopmill
