// SPDX-License-Identifier: Apache-2.0
#include "media/target.h"

#include <gmock/gmock.h>

#include <ostream>
#include <string>
#include <tuple>

#include "media/target_params.h"
#include "media/target_text.h"

namespace gopmill {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TargetRequest Set(std::string_view name, std::string_view value) {
  TargetRequest request;
  const Status status = SetParam(request, name, value);
  EXPECT_TRUE(status.ok()) << name << "=" << value << ": " << status.error().ToString();
  return request;
}

TEST(TargetParams, TheSizeIsGivenInOneWay) {
  TargetRequest sized = Set("size", "640x360");
  EXPECT_EQ(SetParam(sized, "width", "320").error().parameter, "width");
  EXPECT_EQ(sized.width, 640);
  TargetRequest wide = Set("width", "320");
  EXPECT_TRUE(SetParam(wide, "height", "240").ok());
  EXPECT_EQ(SetParam(wide, "size", "640x360").error().accepted, "either size, or width and height");
}

TEST(TargetParams, AcceptsTheUsualForms) {
  EXPECT_EQ(Set("width", "640").width, 640);
  EXPECT_EQ(Set("width", "16").width, 16);
  EXPECT_EQ(Set("height", "8192").height, 8192);
  const TargetRequest size = Set("size", "641x361");
  EXPECT_EQ(std::tuple(size.width, size.height), std::tuple(641, 361));
  EXPECT_EQ(Set("bitrate", "600k").bitrate, 600'000);
  EXPECT_EQ(Set("bitrate", "1.5M").bitrate, 1'500'000);
  EXPECT_EQ(Set("maxrate", "64000").maxrate, 64'000);
  EXPECT_EQ(Set("bufsize", "200M").bufsize, 200'000'000);
  EXPECT_EQ(Set("abitrate", "96K").abitrate, 96'000);
  EXPECT_EQ(Set("channels", "6").channels, 6);
  EXPECT_EQ(Set("crf", "23.5").crf, 23.5);
  EXPECT_EQ(Set("qp", "1").qp, 1);
  EXPECT_EQ(Set("unit", "gop").unit_seconds, 0.0);
  EXPECT_EQ(Set("unit", "1.5").unit_seconds, 1.5);
  EXPECT_EQ(Set("class", "gold-1").service_class, "gold-1");
  EXPECT_EQ(Set("start", "0").start, (Rational{0, 1}));
  EXPECT_EQ(Set("duration", "1:30.5").duration, (Rational{181, 2}));
  EXPECT_EQ(Set("rotate", "270").rotate, 270);
  EXPECT_EQ(Set("deinterlace", "on").deinterlace, Deinterlace::kOn);
  Set("quality", "normal");
}

TEST(TargetParams, FrameRatesAreExactFractions) {
  EXPECT_EQ(Set("fps", "24").fps, (Rational{24, 1}));
  EXPECT_EQ(Set("fps", "12.5").fps, (Rational{25, 2}));
  EXPECT_EQ(Set("fps", "30000/1001").fps, (Rational{30000, 1001}));
  for (const char* text : {"23.976", "23.98", "23.976024", "23.9760239760239760"}) {
    EXPECT_EQ(Set("fps", text).fps, (Rational{24000, 1001})) << text;
  }
  EXPECT_EQ(Set("fps", "29.97").fps, (Rational{30000, 1001}));
  EXPECT_EQ(Set("fps", "59.94").fps, (Rational{60000, 1001}));
  EXPECT_EQ(Set("fps", "119.88").fps, (Rational{120000, 1001}));
  EXPECT_EQ(Set("fps", "24.00").fps, (Rational{24, 1}));
  EXPECT_EQ(Set("fps", "23.9").fps, (Rational{239, 10}));
  EXPECT_EQ(Set("fps", "1").fps, (Rational{1, 1}));
  EXPECT_EQ(Set("fps", "240").fps, (Rational{240, 1}));
}

struct Refused {
  const char* name;
  std::string value;
};

void PrintTo(const Refused& refused, std::ostream* out) {
  *out << refused.name << "=" << Quoted(refused.value);
}

class RefusedParam : public ::testing::TestWithParam<Refused> {};

TEST_P(RefusedParam, NamesParameterAndRangeAndChangesNothing) {
  const auto& [name, value] = GetParam();
  TargetRequest request;
  const Status status = gopmill::SetParam(request, name, value);
  ASSERT_FALSE(status.ok()) << name << "=" << Quoted(value);
  EXPECT_EQ(status.error().code, Code::kInvalidArgument);
  EXPECT_EQ(status.error().parameter, name);
  EXPECT_FALSE(status.error().accepted.empty());
  EXPECT_LT(status.error().message.size(), 200u);
  EXPECT_FALSE(request.width || request.height || request.fps || request.bitrate ||
               request.duration || request.unit_seconds || request.service_class ||
               request.rotate || request.deinterlace);
}

const std::string kNul("6\00040", 4);
const std::string kHuge(65536, '9');

INSTANTIATE_TEST_SUITE_P(
    Garbage, RefusedParam,
    ::testing::Values(
        Refused{"size", "0x0"}, Refused{"size", "1x1"}, Refused{"size", "16384x16384"},
        Refused{"size", "640"}, Refused{"size", "640x"}, Refused{"size", "x360"},
        Refused{"size", "640X360"}, Refused{"size", "640x360x2"}, Refused{"size", " 640x360"},
        Refused{"size", "640x360 "}, Refused{"size", "-640x360"}, Refused{"size", ""},
        Refused{"qp", "0"}, Refused{"crf", "0"}, Refused{"crf", "0.9"}, Refused{"width", "0"},
        Refused{"width", "15"}, Refused{"width", "8193"}, Refused{"width", "640.0"},
        Refused{"width", "+640"}, Refused{"width", "0x280"}, Refused{"width", kNul},
        Refused{"width", kHuge}, Refused{"height", ""}, Refused{"height", "99999999999999999999"},
        Refused{"fps", "0"}, Refused{"fps", "0.5"}, Refused{"fps", "241"}, Refused{"fps", "NaN"},
        Refused{"fps", "nan"}, Refused{"fps", "inf"}, Refused{"fps", "-24"}, Refused{"fps", "1e9"},
        Refused{"fps", "1e2"}, Refused{"fps", "24."}, Refused{"fps", ".5"}, Refused{"fps", "24,5"},
        Refused{"fps", "30/0"}, Refused{"fps", "0/1"}, Refused{"fps", "/"},
        Refused{"fps", "30/1/1"}, Refused{"fps", ""}, Refused{"fps", "24 fps"},
        Refused{"fps", kHuge}, Refused{"fps", "9999999999/1"}));

INSTANTIATE_TEST_SUITE_P(
    GarbageRates, RefusedParam,
    ::testing::Values(Refused{"bitrate", "0"}, Refused{"bitrate", "1"}, Refused{"bitrate", "10G"},
                      Refused{"bitrate", "10000000000"}, Refused{"bitrate", "999999999999G"},
                      Refused{"bitrate", "k"}, Refused{"bitrate", "600kb"},
                      Refused{"bitrate", "600 k"}, Refused{"bitrate", "600m"},
                      Refused{"bitrate", "1e6"}, Refused{"bitrate", "-600k"},
                      Refused{"bitrate", ""}, Refused{"bitrate", kHuge}, Refused{"bitrate", "NaN"},
                      Refused{"maxrate", "9.9k"}, Refused{"bufsize", "201M"},
                      Refused{"abitrate", "5k"}, Refused{"abitrate", "2M"},
                      Refused{"channels", "0"}, Refused{"channels", "9"}, Refused{"crf", "64"},
                      Refused{"crf", "-1"}, Refused{"crf", "x"}, Refused{"qp", "64"},
                      Refused{"qp", "1.5"}, Refused{"unit", "0"}, Refused{"unit", "0.1"},
                      Refused{"unit", "31"}, Refused{"unit", "GOP"}, Refused{"unit", ""}));

INSTANTIATE_TEST_SUITE_P(
    GarbageNames, RefusedParam,
    ::testing::Values(Refused{"vcodec", "h265"}, Refused{"vcodec", ""}, Refused{"vcodec", "H264"},
                      Refused{"acodec", "mp3"}, Refused{"container", "avi"},
                      Refused{"preset", "placebo"}, Refused{"profile", "high422"},
                      Refused{"fit", "cover"}, Refused{"bframes", "3"}, Refused{"rotate", "45"},
                      Refused{"rotate", "-90"}, Refused{"rotate", "360"}, Refused{"rotate", ""},
                      Refused{"deinterlace", "yes"}, Refused{"deinterlace", ""},
                      Refused{"quality", "better"}, Refused{"class", ""}, Refused{"class", "a b"},
                      Refused{"class", "../x"}, Refused{"class", std::string(33, 'a')},
                      Refused{"start", "-1"}, Refused{"start", "1:60"}, Refused{"start", "1:2:3:4"},
                      Refused{"start", "1:60:00"}, Refused{"start", ":30"}, Refused{"start", "1:"},
                      Refused{"start", "999999999"}, Refused{"start", "NaN"},
                      Refused{"duration", "0"}, Refused{"duration", "0.0"},
                      Refused{"duration", "10s"}));

TEST(TargetParams, UnknownNamesAreRefusedWithTheList) {
  TargetRequest request;
  for (const std::string name : {"heigth", "", "Width", "cmd"}) {
    const Status status = SetParam(request, name, "1");
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, Code::kInvalidArgument);
    EXPECT_EQ(status.error().parameter, name);
    EXPECT_THAT(status.error().accepted, HasSubstr("width, height"));
  }
}

TEST(TargetParams, QualityIsNormalOrBest) {
  TargetRequest request;
  ASSERT_TRUE(SetParam(request, "quality", "best").ok());
  EXPECT_EQ(request.quality, Quality::kBest);
  const Status status = SetParam(request, "quality", "perfect");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().accepted, "normal, best");
}

TEST(TargetParams, MessagesHoldOnlyPrintableText) {
  TargetRequest request;
  const Status status = SetParam(request, "vcodec", std::string("a\0\x1b[31m\xff", 8));
  EXPECT_THAT(status.error().message, HasSubstr("'a??[31m?'"));
  const Status unknown = SetParam(request, std::string(70000, '\n'), "x");
  EXPECT_THAT(unknown.error().message, Not(HasSubstr("\n")));
  EXPECT_LT(unknown.error().parameter.size(), 50u);
}

TEST(TargetParams, DocsListEveryNameOfEveryEnum) {
  const auto accepted = [](std::string_view name) {
    for (const ParamDoc& doc : TargetParams()) {
      if (doc.name == name) return std::string(doc.accepted);
    }
    return std::string("no such parameter");
  };
  for (int i = 0; i <= static_cast<int>(VideoCodec::kMpeg4); ++i) {
    EXPECT_THAT(accepted("vcodec"), HasSubstr(Name(static_cast<VideoCodec>(i))));
  }
  for (int i = 0; i <= static_cast<int>(AudioCodec::kNone); ++i) {
    EXPECT_THAT(accepted("acodec"), HasSubstr(Name(static_cast<AudioCodec>(i))));
  }
  for (int i = 0; i <= static_cast<int>(Container::kWebm); ++i) {
    EXPECT_THAT(accepted("container"), HasSubstr(Name(static_cast<Container>(i))));
  }
  for (int i = 0; i <= static_cast<int>(Preset::kVeryslow); ++i) {
    EXPECT_THAT(accepted("preset"), HasSubstr(Name(static_cast<Preset>(i))));
  }
  for (int i = 0; i <= static_cast<int>(Profile::kMain10); ++i) {
    EXPECT_THAT(accepted("profile"), HasSubstr(Name(static_cast<Profile>(i))));
  }
  for (int i = 0; i <= static_cast<int>(Fit::kPad); ++i) {
    EXPECT_THAT(accepted("fit"), HasSubstr(Name(static_cast<Fit>(i))));
  }
  for (int i = 0; i <= static_cast<int>(Deinterlace::kOn); ++i) {
    EXPECT_THAT(accepted("deinterlace"), HasSubstr(Name(static_cast<Deinterlace>(i))));
  }
}

TEST(TargetText, TimesAndDecimals) {
  EXPECT_EQ(*ParseSeconds("1:02:03.25"), (Rational{372325, 100}));
  EXPECT_EQ(*ParseSeconds("90"), (Rational{90, 1}));
  EXPECT_EQ(*ParseSeconds("100:00"), (Rational{6000, 1}));
  EXPECT_EQ(DecimalText({30000, 1001}), "29.97");
  EXPECT_EQ(DecimalText({24, 1}), "24");
  EXPECT_EQ(DecimalText({1, 8}), "0.125");
}

// What one GOP may exceed has to be judged before it is sent, so it cannot leave while it arrives.
TEST(LowDelay, IsForH264WithoutACapOrWithRoomBelowIt) {
  Target target;
  target.bitrate = 400'000;
  EXPECT_TRUE(HasLowDelay(target));
  const auto without = [&](const auto& change) {
    Target changed = target;
    change(changed);
    return !HasLowDelay(changed);
  };
  EXPECT_TRUE(without([](Target& t) { t.vcodec = VideoCodec::kHevc; }));
  EXPECT_TRUE(without([](Target& t) { t.quality = Quality::kBest; }));
  EXPECT_TRUE(without([](Target& t) { t.unit_seconds = 0; })) << "unit=gop";
  EXPECT_TRUE(without([](Target& t) { t.whole_units = true; }));
  target.maxrate = target.bufsize = 600'000;
  EXPECT_TRUE(HasLowDelay(target)) << "one and a half times the rate";
  EXPECT_TRUE(without([](Target& t) { t.maxrate = 590'000; }));
  EXPECT_TRUE(without([](Target& t) { t.bufsize = 290'000; })) << "less than half a second";
  EXPECT_TRUE(without([](Target& t) { t.rate_mode = RateMode::kCrf; }));
}

}  // namespace
}  // namespace gopmill
