// SPDX-License-Identifier: Apache-2.0
#include "media/resolve_target.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "media/plan.h"
#include "media/target_params.h"
#include "tests/unit/target/source_fixture.h"

namespace gopmill {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kStereo = AV_CH_LAYOUT_STEREO;

using Params = std::vector<std::pair<std::string, std::string>>;

Result<ResolvedTarget> Resolve(const Params& params, const SourceInfo& source = MakeSource()) {
  TargetRequest request;
  for (const auto& [name, value] : params) {
    const Status status = SetParam(request, name, value);
    EXPECT_TRUE(status.ok()) << status.error().ToString();
  }
  return ResolveTarget(request, source);
}

ResolvedTarget Good(const Params& params, const SourceInfo& source = MakeSource()) {
  auto result = Resolve(params, source);
  EXPECT_TRUE(result.ok()) << result.error().ToString();
  return result.ok() ? *result : ResolvedTarget{};
}

Error Bad(const Params& params, const SourceInfo& source = MakeSource()) {
  auto result = Resolve(params, source);
  EXPECT_FALSE(result.ok());
  return result.ok() ? Error{} : result.error();
}

std::string Adjusted(const ResolvedTarget& resolved, std::string_view parameter) {
  for (const Adjustment& each : resolved.adjustments) {
    if (each.parameter == parameter) return each.asked + " -> " + each.given;
  }
  return "not adjusted";
}

TEST(ResolveTarget, DefaultsAreTheSource) {
  const ResolvedTarget resolved = Good({});
  const Target& target = resolved.target;
  EXPECT_EQ(target.width, 1280);
  EXPECT_EQ(target.height, 720);
  EXPECT_EQ(target.fps, (Rational{30, 1}));
  EXPECT_EQ(target.bitrate, 3'000'000);
  EXPECT_EQ(target.vcodec, VideoCodec::kH264);
  EXPECT_EQ(target.acodec, AudioCodec::kAac);
  EXPECT_EQ(target.container, Container::kMp4);
  EXPECT_EQ(target.abitrate, 128'000);
  EXPECT_EQ(target.channels, 2);
  EXPECT_EQ(target.sample_rate, 44100);
  EXPECT_EQ(target.maxrate, 0);
  EXPECT_FALSE(target.duration.valid());
  EXPECT_EQ(target.unit_seconds, kDefaultUnitSeconds);
  EXPECT_THAT(resolved.adjustments, IsEmpty());
}

TEST(ResolveTarget, SaysWhichWishesOfAnEncoderItCannotMeet) {
  EXPECT_EQ(Adjusted(Good({{"vcodec", "av1"}, {"preset", "veryslow"}}), "preset"),
            "veryslow -> slow");
  EXPECT_EQ(Adjusted(Good({{"vcodec", "av1"}, {"preset", "slow"}}), "preset"), "not adjusted");
  EXPECT_EQ(Adjusted(Good({{"preset", "veryslow"}}), "preset"), "not adjusted");
  EXPECT_EQ(Adjusted(Good({{"bframes", "on"}, {"profile", "baseline"}}), "bframes"), "on -> off");
  EXPECT_EQ(Adjusted(Good({{"bframes", "on"}}), "bframes"), "not adjusted");
  EXPECT_EQ(Adjusted(Good({{"profile", "baseline"}}), "bframes"), "not adjusted");
  for (const char* codec : {"av1", "vp9"}) {
    const ResolvedTarget rounded = Good({{"vcodec", codec}, {"crf", "30.4"}});
    EXPECT_EQ(Adjusted(rounded, "crf"), "30.4 -> 30") << codec;
    EXPECT_EQ(rounded.target.crf, 30) << codec;
    EXPECT_EQ(Adjusted(Good({{"vcodec", codec}, {"crf", "30"}}), "crf"), "not adjusted") << codec;
  }
  EXPECT_EQ(Adjusted(Good({{"crf", "30.4"}}), "crf"), "not adjusted");
}

TEST(ResolveTarget, WebmChoosesItsOwnCodecs) {
  const Target target = Good({{"container", "webm"}}).target;
  EXPECT_EQ(target.vcodec, VideoCodec::kVp9);
  EXPECT_EQ(target.acodec, AudioCodec::kOpus);
  EXPECT_EQ(target.sample_rate, 48000);
  EXPECT_EQ(Bad({{"container", "webm"}, {"vcodec", "h264"}}).parameter, "vcodec");
  EXPECT_EQ(Bad({{"container", "webm"}, {"acodec", "aac"}}).parameter, "acodec");
  EXPECT_EQ(Bad({{"container", "webm"}, {"acodec", "copy"}}).parameter, "acodec");
}

TEST(ResolveTarget, BFramesAreThereUnlessTheyAreTurnedOffOrTheCodecHasNone) {
  EXPECT_TRUE(Good({}).target.b_frames);
  EXPECT_TRUE(Good({{"vcodec", "hevc"}}).target.b_frames);
  EXPECT_FALSE(Good({{"bframes", "off"}}).target.b_frames);
  EXPECT_FALSE(Good({{"vcodec", "hevc"}, {"bframes", "off"}}).target.b_frames);
  for (const Params& none : {Params{{"preset", "ultrafast"}}, Params{{"profile", "baseline"}},
                             Params{{"vcodec", "mpeg4"}}, Params{{"container", "webm"}}}) {
    EXPECT_FALSE(Good(none).target.b_frames);
  }
}

TEST(ResolveTarget, BitrateFollowsThePixelRateSublinearly) {
  const std::int64_t quarter = Good({{"width", "640"}}).target.bitrate;
  EXPECT_EQ(quarter, 1'060'000);  // 3M * 0.25^0.75
  const std::int64_t half_rate = Good({{"fps", "15"}}).target.bitrate;
  EXPECT_EQ(half_rate, 1'783'000);
  EXPECT_EQ(Good({{"size", "1920x1080"}}).target.bitrate, 3'000'000);
}

TEST(ResolveTarget, BitrateOfASourceThatDoesNotTell) {
  SourceInfo source = MakeSource();
  source.video.bitrate = 0;
  EXPECT_EQ(Good({}, source).target.bitrate, 3'000'000);  // the file without its audio
  source.bitrate = 0;
  EXPECT_EQ(Good({}, source).target.bitrate, 2'764'000);  // 0.1 bit per pixel
  source.video.bitrate = 900'000'000;
  EXPECT_EQ(Good({}, source).target.bitrate, 13'824'000);  // half a bit per pixel
  source.video.bitrate = 1'000;
  EXPECT_EQ(Good({}, source).target.bitrate, kMinBitrate);
}

TEST(ResolveTarget, VariableFrameRatesBecomeTheNominalOne) {
  SourceInfo source = MakeSource();
  source.video.variable_fps = true;
  EXPECT_EQ(Adjusted(Good({}, source), "fps"), "variable -> 30");
  source.video.fps = {90000, 1};
  const ResolvedTarget capped = Good({}, source);
  EXPECT_EQ(capped.target.fps, (Rational{60, 1}));
  EXPECT_EQ(Adjusted(capped, "fps"), "variable -> 60");
  EXPECT_EQ(Adjusted(Good({{"fps", "25"}}, source), "fps"), "not adjusted");
  source.video.variable_fps = false;
  EXPECT_EQ(Adjusted(Good({}, source), "fps"), "90000 -> 240");
  source.video.fps = {};
  EXPECT_EQ(Adjusted(Good({}, source), "fps"), "unknown -> 25");
}

// The source's may be a mean.
TEST(ResolveTarget, Mpeg4TakesTheNearestRateThatItHas) {
  SourceInfo source = MakeSource();
  source.video.fps = {1'234'567, 46'457};
  for (const bool variable : {false, true}) {
    source.video.variable_fps = variable;
    const ResolvedTarget made = Good({{"vcodec", "mpeg4"}}, source);
    EXPECT_LE(made.target.fps.num, 65'535);
    EXPECT_NEAR(made.target.fps.ToDouble(), source.video.fps.ToDouble(), 1e-6);
    EXPECT_THAT(Adjusted(made, "fps"),
                HasSubstr(variable ? "variable -> 26.574" : "1234567/46457"));
    EXPECT_EQ(Good({}, source).target.fps, source.video.fps) << "others have it as it is";
  }
  EXPECT_EQ(Bad({{"fps", "100003/1001"}, {"vcodec", "mpeg4"}}).parameter, "fps") << "asked for";
}

// A duration is held against what is left of the source, however long that is.
TEST(ResolveTarget, TimesOfManyDigitsAreExact) {
  SourceInfo source = MakeSource();
  source.duration = {10'000'000'000'001, 1'000'000};  // 116 days
  const ResolvedTarget made = Good({{"start", "0.000001"}, {"duration", "10"}}, source);
  EXPECT_EQ(made.target.duration, (Rational{10, 1}));
  EXPECT_EQ(Adjusted(made, "duration"), "not adjusted");
}

TEST(ResolveTarget, RateModesExcludeEachOther) {
  EXPECT_EQ(Bad({{"crf", "20"}, {"bitrate", "1M"}}).parameter, "crf");
  EXPECT_EQ(Bad({{"qp", "20"}, {"bitrate", "1M"}}).parameter, "qp");
  EXPECT_EQ(Bad({{"qp", "20"}, {"crf", "1"}}).parameter, "crf");
  const Target crf = Good({{"crf", "20"}, {"maxrate", "1M"}}).target;
  EXPECT_EQ(crf.rate_mode, RateMode::kCrf);
  EXPECT_EQ(crf.bitrate, 0);
  EXPECT_EQ(crf.maxrate, 1'000'000);
  EXPECT_EQ(Good({{"qp", "1"}}).target.rate_mode, RateMode::kQp);
}

TEST(ResolveTarget, QualityRangesDependOnTheCodec) {
  EXPECT_EQ(Bad({{"crf", "52"}}).parameter, "crf");
  EXPECT_THAT(Bad({{"qp", "52"}}).accepted, HasSubstr("1 to 51"));
  EXPECT_EQ(Good({{"crf", "63"}, {"vcodec", "av1"}}).target.crf, 63);
  EXPECT_EQ(Bad({{"crf", "5"}, {"vcodec", "mpeg4"}}).parameter, "crf");
  EXPECT_EQ(Bad({{"qp", "32"}, {"vcodec", "mpeg4"}}).parameter, "qp");
  EXPECT_EQ(Good({{"qp", "31"}, {"vcodec", "mpeg4"}}).target.qp, 31);
}

TEST(ResolveTarget, BufferIsAtMostOneUnitLong) {
  EXPECT_EQ(Good({{"bitrate", "1M"}, {"maxrate", "2M"}}).target.bufsize, 2'000'000);
  EXPECT_EQ(Good({{"bitrate", "1M"}, {"maxrate", "2M"}, {"unit", "0.5"}}).target.bufsize,
            1'000'000);
  EXPECT_EQ(Good({{"bitrate", "1M"}, {"bufsize", "1.5M"}}).target.maxrate, 1'000'000);
  const ResolvedTarget cut =
      Good({{"bitrate", "1M"}, {"maxrate", "1M"}, {"bufsize", "8M"}, {"unit", "2"}});
  EXPECT_EQ(Adjusted(cut, "bufsize"), "8000000 -> 2000000");
  EXPECT_EQ(cut.target.bufsize, 2'000'000);
}

TEST(ResolveTarget, MaxrateBelowTheBitrateIsRefused) {
  const Error error = Bad({{"bitrate", "2M"}, {"maxrate", "1M"}});
  EXPECT_EQ(error.parameter, "maxrate");
  EXPECT_THAT(error.accepted, HasSubstr("2000000"));
  EXPECT_EQ(Adjusted(Good({{"maxrate", "1M"}}), "bitrate"), "3000000 -> 1000000");
  EXPECT_EQ(Bad({{"qp", "20"}, {"maxrate", "1M"}}).parameter, "maxrate");
  EXPECT_EQ(Bad({{"crf", "20"}, {"bufsize", "1M"}}).parameter, "bufsize");
}

TEST(ResolveTarget, TimesStayWithinTheSource) {
  const Error late = Bad({{"start", "60"}});
  EXPECT_EQ(late.parameter, "start");
  EXPECT_THAT(late.accepted, HasSubstr("60 seconds"));
  const ResolvedTarget clipped = Good({{"start", "50"}, {"duration", "20"}});
  EXPECT_EQ(Adjusted(clipped, "duration"), "20 -> 10");
  EXPECT_FALSE(clipped.target.duration.valid());  // to the end
  EXPECT_EQ(Good({{"start", "50"}, {"duration", "10"}}).target.duration, (Rational{10, 1}));
  SourceInfo pipe = MakeSource();
  pipe.duration = {};
  EXPECT_EQ(Good({{"start", "1:40"}}, pipe).target.start, (Rational{100, 1}));
}

TEST(ResolveTarget, AudioFollowsTheSource) {
  SourceInfo source = MakeSource();
  source.audio->channels = 6;
  source.audio->sample_rate = 48000;
  const ResolvedTarget stereo = Good({}, source);
  EXPECT_EQ(stereo.target.channels, 2);
  EXPECT_EQ(Adjusted(stereo, "channels"), "6 -> 2");
  const ResolvedTarget surround = Good({{"channels", "6"}}, source);
  EXPECT_EQ(surround.target.abitrate, 384'000);
  EXPECT_THAT(surround.adjustments, IsEmpty());
  source.audio->channels = 1;
  EXPECT_EQ(Good({}, source).target.abitrate, 64'000);
  EXPECT_EQ(Good({{"channels", "2"}}, source).target.channels, 2);
  EXPECT_EQ(Adjusted(Good({{"channels", "8"}}, source), "channels"), "8 -> 2");
  EXPECT_EQ(Adjusted(Good({{"abitrate", "1M"}}, source), "abitrate"), "1000000 -> 288000");
  EXPECT_EQ(Adjusted(Good({{"abitrate", "6k"}}, source), "abitrate"), "6000 -> 15000");
  EXPECT_EQ(Adjusted(Good({{"abitrate", "6k"}}), "abitrate"), "6000 -> 22000");
  EXPECT_THAT(Good({{"abitrate", "6k"}, {"acodec", "opus"}}).adjustments, IsEmpty());
  source.audio->sample_rate = 192000;
  EXPECT_EQ(Good({}, source).target.sample_rate, 48000);
}

// The source's sound, of this layout.
SourceInfo WithLayout(std::uint64_t mask) {
  SourceInfo source = MakeSource();
  AVCodecParameters* parameters = avcodec_parameters_alloc();
  av_channel_layout_from_mask(&parameters->ch_layout, mask);
  source.audio->channels = parameters->ch_layout.nb_channels;
  source.audio->parameters = {parameters,
                              [](AVCodecParameters* p) { avcodec_parameters_free(&p); }};
  return source;
}

TEST(ResolveTarget, AsManyChannelsKeepTheirLoudspeakersOrSaySo) {
  const auto resolved = [](const char* codec, std::uint64_t mask) {
    const SourceInfo source = WithLayout(mask);
    return Good({{"channels", std::to_string(source.audio->channels)}, {"acodec", codec}}, source);
  };
  const std::uint64_t both_have[] = {AV_CH_LAYOUT_SURROUND, AV_CH_LAYOUT_QUAD, AV_CH_LAYOUT_6POINT1,
                                     AV_CH_LAYOUT_7POINT1};
  for (const std::uint64_t kept : both_have) {
    for (const char* codec : {"aac", "opus"}) {
      EXPECT_EQ(resolved(codec, kept).target.layout, kept) << codec;
      EXPECT_THAT(resolved(codec, kept).adjustments, IsEmpty());
    }
  }
  // A pair that is the only one behind the front may have either name.
  EXPECT_EQ(resolved("aac", AV_CH_LAYOUT_5POINT1).target.layout, AV_CH_LAYOUT_5POINT1_BACK);
  EXPECT_THAT(resolved("aac", AV_CH_LAYOUT_5POINT1).adjustments, IsEmpty());
  EXPECT_EQ(Adjusted(resolved("aac", AV_CH_LAYOUT_6POINT0), "channels"), "6.0 -> 5.1");
  EXPECT_EQ(Adjusted(resolved("opus", AV_CH_LAYOUT_2POINT1), "channels"), "2.1 -> 3.0");
  EXPECT_THAT(resolved("aac", AV_CH_LAYOUT_2POINT1).adjustments, IsEmpty());
}

TEST(ResolveTarget, EachSoundTrackHasChannelsAndRatesOfItsOwn) {
  SourceInfo source = MakeSource();
  AudioInfo speech = *source.audio;
  speech.channels = 1;
  speech.sample_rate = 22'050;
  AudioInfo surround = *source.audio;
  surround.channels = 6;
  surround.sample_rate = 48'000;
  source.more_audio = {speech, surround};
  const Target target = Good({{"channels", "6"}, {"abitrate", "160k"}}, source).target;
  EXPECT_EQ(target.sound(0), (SoundTarget{160'000, 2, 44'100, kStereo}));
  EXPECT_EQ(target.sound(1), (SoundTarget{160'000, 2, 22'050, kStereo}));
  EXPECT_EQ(target.sound(2), (SoundTarget{160'000, 6, 48'000, AV_CH_LAYOUT_5POINT1_BACK}));
  EXPECT_EQ(Good({}, source).target.sound(1), (SoundTarget{64'000, 1, 22'050, AV_CH_LAYOUT_MONO}));
  EXPECT_EQ(Good({}, source).target.sound(2), (SoundTarget{128'000, 2, 48'000, kStereo}));
  EXPECT_THAT(Good({{"acodec", "none"}}, source).target.more_sounds, IsEmpty());
  source.more_audio[1].codec = "vorbis";
  EXPECT_EQ(Bad({{"acodec", "copy"}}, source).parameter, "acodec") << "of any of them";
}

TEST(ResolveTarget, ATrackForEachChannelIsSaidToBeOneOfThem) {
  SourceInfo source = MakeSource();
  source.audio->codec = "pcm_s24le";
  source.audio->channels = 1;
  source.audio_tracks = {*source.audio};
  EXPECT_EQ(Adjusted(Good({}, source), "audio"), "not adjusted") << "there is but one";
  source.audio_tracks.push_back(*source.audio);
  EXPECT_EQ(Adjusted(Good({}, source), "audio"), "2 tracks of one channel -> 1");
  EXPECT_EQ(Adjusted(Good({{"acodec", "none"}}, source), "audio"), "not adjusted");
  EXPECT_EQ(Adjusted(Good({{"audio", "2"}}, source), "audio"), "not adjusted") << "it is asked for";
  source.audio_tracks[1].language = "deu";
  EXPECT_EQ(Adjusted(Good({}, source), "audio"), "not adjusted") << "it says something else";
}

TEST(ResolveTarget, SourceWithoutAudio) {
  SourceInfo source = MakeSource();
  source.audio.reset();
  EXPECT_THAT(Good({}, source).adjustments, IsEmpty());
  EXPECT_EQ(Good({}, source).target.acodec, AudioCodec::kNone);
  EXPECT_EQ(Adjusted(Good({{"acodec", "aac"}}, source), "acodec"), "aac -> none");
  EXPECT_EQ(Adjusted(Good({{"acodec", "copy"}}, source), "acodec"), "copy -> none");
  EXPECT_EQ(Adjusted(Good({{"channels", "2"}}, source), "acodec"), "aac -> none");
}

TEST(ResolveTarget, WhatSoundWouldHaveIsNotDroppedSilently) {
  EXPECT_EQ(Adjusted(Good({{"acodec", "none"}, {"channels", "2"}}), "channels"), "2 -> 0");
  EXPECT_EQ(Adjusted(Good({{"acodec", "none"}, {"abitrate", "96k"}}), "abitrate"), "96000 -> 0");
  EXPECT_EQ(Adjusted(Good({{"acodec", "none"}, {"audio", "1"}}), "audio"), "1 -> none");
  EXPECT_EQ(Adjusted(Good({{"acodec", "none"}, {"audio", "1,3"}}), "audio"), "1,3 -> none");
  EXPECT_EQ(Adjusted(Good({{"acodec", "none"}, {"audio", "all"}}), "audio"), "all -> none");
  const ResolvedTarget both = Good({{"acodec", "none"}, {"channels", "2"}, {"abitrate", "96k"}});
  EXPECT_EQ(both.adjustments.size(), 2U) << "each by itself";
  EXPECT_THAT(Good({{"acodec", "none"}}).adjustments, IsEmpty());
}

TEST(ResolveTarget, CopiedAudioIsCheckedAgainstTheContainer) {
  const Target target = Good({{"acodec", "copy"}}).target;
  EXPECT_EQ(target.acodec, AudioCodec::kCopy);
  EXPECT_EQ(target.channels, 0);
  EXPECT_EQ(target.sample_rate, 0);
  EXPECT_EQ(Bad({{"acodec", "copy"}, {"abitrate", "96k"}}).parameter, "abitrate");
  EXPECT_EQ(Bad({{"acodec", "copy"}, {"channels", "2"}}).parameter, "channels");
  SourceInfo source = MakeSource();
  source.audio->codec = "vorbis";
  EXPECT_EQ(Bad({{"acodec", "copy"}}, source).parameter, "acodec");
}

TEST(ResolveTarget, ProfilesBelongToCodecs) {
  EXPECT_EQ(Good({{"profile", "high10"}}).target.profile, Profile::kHigh10);
  EXPECT_EQ(Good({{"profile", "main10"}, {"vcodec", "hevc"}}).target.profile, Profile::kMain10);
  const Error error = Bad({{"profile", "main10"}});
  EXPECT_EQ(error.parameter, "profile");
  EXPECT_THAT(error.accepted, HasSubstr("high10"));
  EXPECT_EQ(Bad({{"profile", "main"}, {"vcodec", "mpeg4"}}).parameter, "profile");
  EXPECT_EQ(Bad({{"profile", "high"}, {"vcodec", "vp9"}}).accepted, "auto with vcodec=vp9");
  EXPECT_EQ(Bad({{"profile", "main10"}, {"vcodec", "av1"}}).accepted, "auto, main with vcodec=av1");
}

TEST(ResolveTarget, LevelsLimitPixelsAndRate) {
  EXPECT_EQ(Bad({{"size", "8192x8192"}, {"fit", "pad"}}).parameter, "size");
  EXPECT_EQ(Bad({{"size", "8192x4352"}, {"fit", "pad"}, {"fps", "240"}}).parameter, "fps");
  EXPECT_EQ(Bad({{"size", "8192x1080"}, {"fit", "pad"}, {"vcodec", "mpeg4"}}).parameter, "size");
  EXPECT_EQ(Bad({{"fps", "100003/1001"}, {"vcodec", "mpeg4"}}).parameter, "fps");
}

TEST(ResolveTarget, Av1HasASmallestPicture) {
  const Params below = {{"vcodec", "av1"},
                        {"container", "mp4"},
                        {"width", "80"},
                        {"height", "62"},
                        {"fit", "stretch"}};
  EXPECT_THAT(Bad(below).ToString(), HasSubstr("80x62 is too small for av1"));
  Params least = below;
  least[3].second = "64";
  EXPECT_EQ(Good(least).target.height, 64);
}

TEST(ResolveTarget, Av1HasAHighestBitRate) {
  const Error error = Bad({{"vcodec", "av1"}, {"bitrate", "120M"}});
  EXPECT_EQ(error.parameter, "bitrate");
  EXPECT_EQ(error.accepted, "10000 to 100000000 with vcodec=av1");
  EXPECT_EQ(Good({{"vcodec", "av1"}, {"bitrate", "100M"}}).target.bitrate, 100'000'000);
  EXPECT_EQ(Good({{"bitrate", "120M"}}).target.bitrate, 120'000'000);
  SourceInfo source = MakeSource();
  source.video.width = 3840;
  source.video.height = 2160;
  source.video.bitrate = 150'000'000;
  const ResolvedTarget resolved = Good({{"vcodec", "av1"}}, source);
  EXPECT_EQ(resolved.target.bitrate, 100'000'000);
  EXPECT_EQ(Adjusted(resolved, "bitrate"), "124416000 -> 100000000");
}

// Beyond what the source asks for itself.
TEST(ResolveTarget, TurnsByRequest) {
  SourceInfo source = MakeSource();
  const Target plain = Good({}, source).target;
  EXPECT_EQ(plain.rotate, 0);
  const Target turned = Good({{"rotate", "90"}}, source).target;
  EXPECT_EQ(std::pair(turned.width, turned.height), std::pair(plain.height, plain.width));
  EXPECT_EQ(turned.bitrate, plain.bitrate);
  source.video.rotation = 270;
  const Target upright = Good({{"rotate", "90"}}, source).target;
  EXPECT_EQ(std::pair(upright.width, upright.height), std::pair(plain.width, plain.height));
  StreamPlan plan;
  plan.source = std::make_shared<SourceInfo>(source);
  plan.target = upright;
  EXPECT_EQ(plan.rotation(), 0);
  plan.target.rotate = 180;
  EXPECT_EQ(plan.rotation(), 90);
}

// Which takes a picture on each side.
TEST(ResolveTarget, DeinterlacesWhatSaysSoUnlessAskedOtherwise) {
  VideoInfo video = MakeSource().video;
  for (const bool interlaced : {false, true}) {
    video.interlaced = interlaced;
    for (const auto& [asked, wanted] :
         {std::pair("auto", interlaced ? Deinterlace::kAuto : Deinterlace::kOff),
          {"off", Deinterlace::kOff},
          {"on", Deinterlace::kOn}}) {
      const Target target = Good({{"deinterlace", asked}}).target;
      EXPECT_EQ(DeinterlaceOf(video, target), wanted) << asked << interlaced;
      EXPECT_EQ(TemporalContext(video, target), wanted == Deinterlace::kOff ? 0 : 1);
    }
  }
}

TEST(ResolveTarget, SourceWithoutASizeIsCorrupt) {
  SourceInfo source = MakeSource();
  source.video.width = 0;
  EXPECT_EQ(Bad({}, source).code, Code::kCorrupt);
}

}  // namespace
}  // namespace gopmill
