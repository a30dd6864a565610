// SPDX-License-Identifier: Apache-2.0
#include "server/segments/rendition_identity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <initializer_list>
#include <type_traits>

#include "server/stream/build_identity.h"

namespace gopmill {
namespace {

template <class Field>
std::string FieldText(const Field& field) {
  if constexpr (std::is_enum_v<Field>) {
    return fmt::format("{}", static_cast<int>(field));
  } else {
    return fmt::format("{}", field);
  }
}
std::string FieldText(const Rational& field) { return fmt::format("{}/{}", field.num, field.den); }

template <class... Fields>
std::string Joined(const Fields&... fields) {
  return fmt::format("{}",
                     fmt::join(std::initializer_list<std::string>{FieldText(fields)...}, ";"));
}

// The fields that the coded bytes depend on.
struct TargetFields {
  std::string video, audio;
};

// All are named, so that one that is added does not compile before somebody has thought of it. In
// neither are: what is drawn (`burn`), which is part of the file; other tracks (`subtitles`,
// `more_sounds`); `unit_seconds`, which is the length of segments; `service_class`; and
// `whole_units`, of live sources.
TargetFields FieldsOf(const Target& target) {
  const auto& [vcodec, preset, quality, profile, width, height, fit, rotate, deinterlace, denoise,
               degrain, burn, subtitles, fps, rate_mode, bitrate, crf, qp, maxrate, bufsize, acodec,
               abitrate, channels, sample_rate, layout, more_sounds, container, start, duration,
               unit_seconds, service_class, whole_units, b_frames] = target;
  const std::string both = Joined(fps, container, start, duration);
  return {.video = Joined(both, vcodec, preset, quality, profile, width, height, fit, rotate,
                          deinterlace, denoise, degrain, rate_mode, bitrate, crf, qp, maxrate,
                          bufsize, b_frames),
          .audio = Joined(both, acodec, abitrate, channels, sample_rate, layout)};
}

}  // namespace

std::string VideoIdentity(const Target& target, const RenditionSource& source,
                          std::int64_t frames) {
  return Joined(BuildIdentity(), source.file, "v", FieldsOf(target).video, source.segment_seconds,
                frames);
}

std::string AudioIdentity(const Target& target, const RenditionSource& source,
                          std::int64_t samples) {
  return Joined(BuildIdentity(), source.file, "a", source.audio_track, FieldsOf(target).audio,
                source.segment_seconds, samples);
}

}  // namespace gopmill
