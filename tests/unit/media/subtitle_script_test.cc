// SPDX-License-Identifier: Apache-2.0
//
// Cues as a script. How it looks: tests/unit/codec/subtitle_burner_test.cc; from real movies:
// tests/integration/burn_test.py.
#include "media/subtitle_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/utf8.h"

namespace gopmill {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::int64_t kSecond = 1'000'000;
constexpr const char* kFields = "0,2,Default,,0,0,0,,";

SubtitleTrack TrackOf(const std::vector<SubtitleCue>& cues, const std::string& header = {}) {
  SubtitleTrack track;
  track.cues = cues;
  track.header = header;
  return track;
}

SubtitleCue Cue(std::int64_t start_us, std::int64_t end_us, const std::string& text) {
  return {.start_us = start_us, .end_us = end_us, .text = kFields + text};
}

std::shared_ptr<const SubtitleScript> Script(const SubtitleTrack& track) {
  auto script = MakeScript(track);
  EXPECT_TRUE(script.ok());
  return std::move(script).value();
}

TEST(SubtitleScript, WritesLayerTimesAndTheRest) {
  const auto script = Script(TrackOf({Cue(3'661'234'000, 3'662'239'000, "One, two")}));
  EXPECT_THAT(script->text,
              EndsWith("Dialogue: 2,1:01:01.23,1:01:02.24,Default,,0,0,0,,One, two\n"));
}

TEST(SubtitleScript, IsShownFromItsStartUpToItsEnd) {
  const auto script =
      Script(TrackOf({Cue(kSecond, 2 * kSecond, "a"), Cue(kSecond, 3 * kSecond, "b"),
                      Cue(5 * kSecond, 6 * kSecond, "c")}));
  for (const std::int64_t ms : {1'000, 1'999, 2'500, 2'999, 5'000, 5'999}) {
    EXPECT_TRUE(script->ShownAt(1000 * ms)) << ms;
  }
  for (const std::int64_t ms : {-5, 0, 999, 3'000, 4'999, 6'000, 1'000'000}) {
    EXPECT_FALSE(script->ShownAt(1000 * ms)) << ms;
  }
}

TEST(SubtitleScript, LongCuesReachOverShorterOnesBehind) {
  const auto script = Script(TrackOf({Cue(0, 10 * kSecond, "a"), Cue(kSecond, 2 * kSecond, "b")}));
  EXPECT_EQ(script->shown.size(), 1U);
  EXPECT_TRUE(script->ShownAt(9 * kSecond));
}

TEST(SubtitleScript, BeginsWithWhatAScriptIsKnownBy) {
  for (const char* header : {"", "; made by hand\n[V4+ Styles]\nStyle: x\n", "no sections at all",
                             "[SCRIPT INFO]\r\nTitle: t\r\n", "[Script Info]\nTitle: t\n"}) {
    EXPECT_THAT(Script(TrackOf({}, header))->text, StartsWith("[Script Info]\n")) << header;
  }
}

TEST(SubtitleScript, KeepsStylesAndFontsButNotTheOrderOfFields) {
  const auto script = Script(TrackOf({Cue(0, kSecond, "words")},
                                     "[Script Info]\n[V4+ Styles]\nStyle: S\n[Events]\nFormat: "
                                     "Start, Text\n[Fonts]\nfontname: f\n"));
  EXPECT_THAT(script->text, HasSubstr("Style: S\n"));
  EXPECT_THAT(script->text, HasSubstr("fontname: f\n"));
  EXPECT_THAT(script->text, Not(HasSubstr("Format: Start, Text")));
}

TEST(SubtitleScript, LeavesOutWhatIsNoEvent) {
  const auto script = Script(TrackOf({{.start_us = 0, .end_us = kSecond, .text = "no fields"},
                                      {.start_us = 0, .end_us = kSecond, .text = "one,"},
                                      Cue(2 * kSecond, kSecond, "ends before it starts"),
                                      Cue(-2 * kSecond, -kSecond, "before the movie"),
                                      Cue(0, kSecond, "no text: \xff\xfe")}));
  EXPECT_THAT(script->text, Not(HasSubstr("Dialogue")));
  EXPECT_TRUE(script->shown.empty());
}

TEST(SubtitleScript, IsTextWhateverTheHeaderHolds) {
  const auto script =
      Script(TrackOf({}, "[Script Info]\nTitle: \xff\xc3(\n[V4+ Styles]\nStyle: S\n"));
  EXPECT_TRUE(IsUtf8(script->text));
  EXPECT_THAT(script->text, HasSubstr("Style: S\n"));
}

TEST(SubtitleScript, RefusesAHeaderBeyondItsLimit) {
  const auto script = MakeScript(TrackOf({}, std::string(kMaxScriptHeader + 1, 'x')));
  ASSERT_FALSE(script.ok());
  EXPECT_EQ(script.error().code, Code::kUnsupported);
  EXPECT_EQ(script.error().parameter, "burn");
}

TEST(SubtitleScript, OtherWordsHaveAnotherFingerprint) {
  const auto one = Script(TrackOf({Cue(0, kSecond, "one")}));
  EXPECT_EQ(one->fingerprint, Script(TrackOf({Cue(0, kSecond, "one")}))->fingerprint);
  EXPECT_NE(one->fingerprint, Script(TrackOf({Cue(0, kSecond, "two")}))->fingerprint);
}

}  // namespace
}  // namespace gopmill
