// SPDX-License-Identifier: Apache-2.0
#include "server/segments/rendition_identity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace gopmill {
namespace {

enum class Of { kPictures, kSound, kBoth, kNeither };

struct FieldCase {
  std::string name;
  std::function<void(Target&)> change;
  Of of;
};

void Change(std::string& field) { field += "x"; }
void Change(std::vector<SoundTarget>& field) { field.emplace_back(); }
void Change(Rational& field) { field = Sum(field.valid() ? field : Rational{0, 1}, {1, 7}); }
void Change(bool& field) { field = !field; }
template <class Field>
void Change(Field& field) {
  if constexpr (std::is_enum_v<Field>) {
    field = static_cast<Field>(static_cast<int>(field) + 1);
  } else {
    field += 1;
  }
}

template <class Field>
FieldCase Case(const char* name, Field Target::*field, Of of) {
  return {name, [field](Target& target) { Change(target.*field); }, of};
}

// In the order of Target.
std::vector<FieldCase> AllFields() {
  return {Case("vcodec", &Target::vcodec, Of::kPictures),
          Case("preset", &Target::preset, Of::kPictures),
          Case("quality", &Target::quality, Of::kPictures),
          Case("profile", &Target::profile, Of::kPictures),
          Case("width", &Target::width, Of::kPictures),
          Case("height", &Target::height, Of::kPictures),
          Case("fit", &Target::fit, Of::kPictures),
          Case("rotate", &Target::rotate, Of::kPictures),
          Case("deinterlace", &Target::deinterlace, Of::kPictures),
          Case("denoise", &Target::denoise, Of::kPictures),
          Case("degrain", &Target::degrain, Of::kPictures),
          Case("burn", &Target::burn, Of::kNeither),
          Case("subtitles", &Target::subtitles, Of::kNeither),
          Case("fps", &Target::fps, Of::kBoth),
          Case("rate_mode", &Target::rate_mode, Of::kPictures),
          Case("bitrate", &Target::bitrate, Of::kPictures),
          Case("crf", &Target::crf, Of::kPictures),
          Case("qp", &Target::qp, Of::kPictures),
          Case("maxrate", &Target::maxrate, Of::kPictures),
          Case("bufsize", &Target::bufsize, Of::kPictures),
          Case("acodec", &Target::acodec, Of::kSound),
          Case("abitrate", &Target::abitrate, Of::kSound),
          Case("channels", &Target::channels, Of::kSound),
          Case("sample_rate", &Target::sample_rate, Of::kSound),
          Case("layout", &Target::layout, Of::kSound),
          Case("more_sounds", &Target::more_sounds, Of::kNeither),
          Case("container", &Target::container, Of::kBoth),
          Case("start", &Target::start, Of::kBoth),
          Case("duration", &Target::duration, Of::kBoth),
          Case("unit_seconds", &Target::unit_seconds, Of::kNeither),
          Case("service_class", &Target::service_class, Of::kNeither),
          Case("whole_units", &Target::whole_units, Of::kNeither),
          Case("b_frames", &Target::b_frames, Of::kPictures)};
}

const RenditionSource kSource{.file = "movie", .audio_track = 0, .segment_seconds = 2};

TEST(RenditionIdentity, HasEachFieldThatTheBytesDependOn) {
  const Target plain;
  for (const FieldCase& field : AllFields()) {
    Target changed;
    field.change(changed);
    const bool pictures = VideoIdentity(changed, kSource, 9) != VideoIdentity(plain, kSource, 9);
    const bool sound = AudioIdentity(changed, kSource, 9) != AudioIdentity(plain, kSource, 9);
    EXPECT_EQ(pictures, field.of == Of::kPictures || field.of == Of::kBoth) << field.name;
    EXPECT_EQ(sound, field.of == Of::kSound || field.of == Of::kBoth) << field.name;
  }
}

// Two fields that have changed places would still differ from what they were.
TEST(RenditionIdentity, IsAnotherForEachField) {
  std::vector<std::string> pictures, sounds;
  for (const FieldCase& field : AllFields()) {
    Target changed;
    field.change(changed);
    if (field.of == Of::kPictures) pictures.push_back(VideoIdentity(changed, kSource, 9));
    if (field.of == Of::kSound) sounds.push_back(AudioIdentity(changed, kSource, 9));
  }
  for (auto* identities : {&pictures, &sounds}) {
    std::ranges::sort(*identities);
    EXPECT_EQ(std::ranges::adjacent_find(*identities), identities->end());
  }
}

TEST(RenditionIdentity, HasTheSourceAndItsLength) {
  const Target target;
  const std::string video = VideoIdentity(target, kSource, 9);
  const std::string audio = AudioIdentity(target, kSource, 9);
  EXPECT_NE(video, audio);
  EXPECT_NE(video, VideoIdentity(target, kSource, 10));
  EXPECT_NE(audio, AudioIdentity(target, kSource, 10));
  for (const RenditionSource& other :
       {RenditionSource{.file = "other"}, RenditionSource{.file = "movie", .segment_seconds = 4}}) {
    EXPECT_NE(video, VideoIdentity(target, other, 9));
    EXPECT_NE(audio, AudioIdentity(target, other, 9));
  }
  const RenditionSource second{.file = "movie", .audio_track = 2};
  EXPECT_EQ(video, VideoIdentity(target, second, 9));
  EXPECT_NE(audio, AudioIdentity(target, second, 9));
}

}  // namespace
}  // namespace gopmill
