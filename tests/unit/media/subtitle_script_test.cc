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

constexpr std::int64_t kScriptSecond = 1'000'000;
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
  return MakeScript(track);
}

TEST(SubtitleScript, WritesLayerTimesAndTheRest) {
  const auto script = Script(TrackOf({Cue(3'661'234'000, 3'662'239'000, "One, two")}));
  EXPECT_THAT(script->text,
              EndsWith("Dialogue: 2,1:01:01.23,1:01:02.24,Default,,0,0,0,,One, two\n"));
}

TEST(SubtitleScript, IsShownFromItsStartUpToItsEnd) {
  const auto script = Script(TrackOf({Cue(kScriptSecond, 2 * kScriptSecond, "a"),
                                      Cue(kScriptSecond, 3 * kScriptSecond, "b"),
                                      Cue(5 * kScriptSecond, 6 * kScriptSecond, "c")}));
  for (const std::int64_t ms : {1'000, 1'999, 2'500, 2'999, 5'000, 5'999}) {
    EXPECT_NE(script->SpanAt(1000 * ms), nullptr) << ms;
  }
  for (const std::int64_t ms : {-5, 0, 999, 3'000, 4'999, 6'000, 1'000'000}) {
    EXPECT_EQ(script->SpanAt(1000 * ms), nullptr) << ms;
  }
}

TEST(SubtitleScript, LongCuesReachOverShorterOnesBehind) {
  const auto script = Script(
      TrackOf({Cue(0, 10 * kScriptSecond, "a"), Cue(kScriptSecond, 2 * kScriptSecond, "b")}));
  EXPECT_EQ(script->shown.size(), 1U);
  EXPECT_NE(script->SpanAt(9 * kScriptSecond), nullptr);
}

TEST(SubtitleScript, DrawsInTheOrderOfTheSource) {
  SubtitleCue first = Cue(2 * kScriptSecond, 3 * kScriptSecond, "below"),
              second = Cue(0, kScriptSecond, "above");
  first.text[0] = '1';
  second.text[0] = '5';
  const std::string text = Script(TrackOf({second, first}))->text;
  EXPECT_LT(text.find("below"), text.find("above")) << "libass goes by the order of lines";
}

TEST(SubtitleScript, TakesNoMoreCuesAtATimeThanAPictureHolds) {
  std::vector<SubtitleCue> cues;
  for (int i = 0; i < 100; ++i) cues.push_back(Cue(i * 10'000, 9 * kScriptSecond, "crowd"));
  cues.push_back(Cue(9 * kScriptSecond, 10 * kScriptSecond, "later"));
  const std::string text = Script(TrackOf(cues))->text;
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find("crowd", at)) != std::string::npos; ++at) ++count;
  EXPECT_EQ(count, kMaxShownCues);
  EXPECT_THAT(text, HasSubstr("later"));
}

TEST(SubtitleScript, LeavesOutWhatIsNoEvent) {
  const auto script =
      Script(TrackOf({{.start_us = 0, .end_us = kScriptSecond, .text = "no fields"},
                      {.start_us = 0, .end_us = kScriptSecond, .text = "one,"},
                      Cue(2 * kScriptSecond, kScriptSecond, "ends before it starts"),
                      Cue(-2 * kScriptSecond, -kScriptSecond, "before the movie"),
                      Cue(0, kScriptSecond, "no text: \xff\xfe")}));
  EXPECT_THAT(script->text, Not(HasSubstr("Dialogue")));
  EXPECT_TRUE(script->shown.empty());
}

TEST(SubtitleScript, TakesNoMoreInkAtATimeThanPicturesHold) {
  std::vector<SubtitleCue> cues;
  for (int i = 0; i < 10; ++i) {
    cues.push_back(Cue(0, kScriptSecond, "{\\fs288\\fscx300\\fscy300}" + std::string(80, 'W')));
  }
  cues.push_back(Cue(0, kScriptSecond, "small"));
  const std::string text = Script(TrackOf(cues))->text;
  EXPECT_THAT(text, Not(HasSubstr("WW")));
  EXPECT_THAT(text, HasSubstr("small"));
}

// A poster's style that a dialogue does not use says nothing of its letters.
TEST(SubtitleScript, ALargeStyleTakesNoRoomFromOtherOnes) {
  const std::string words =
      "\u041E\u0431\u044B\u0447\u043D\u0430\u044F \u0440\u0435\u0447\u044C, "
      "\u043A\u043E\u0442\u043E\u0440\u0430\u044F \u0438\u0434\u0451\u0442";
  const auto script = Script(TrackOf({Cue(0, kScriptSecond, words + words + words)},
                                     "[V4+ Styles]\nFormat: Name, Fontsize, Outline\n"
                                     "Style: Default,20,2\nStyle: Poster,280,9\n"));
  EXPECT_THAT(script->text, HasSubstr(words));
}

TEST(SubtitleScript, KeepsMarginsThatLeadOutOfThePicture) {
  const auto script = Script(TrackOf(
      {{.start_us = 0, .end_us = kScriptSecond, .text = "0,0,Default,,-20,-9999,9999,,x"}}));
  EXPECT_THAT(script->text, EndsWith(",Default,,-20,-576,576,,x\n"));
}

TEST(SubtitleScript, IsTextWhateverTheHeaderHolds) {
  const auto script =
      Script(TrackOf({}, "[V4+ Styles]\nStyle: \xff\xc3(\nStyle: S\n" + std::string(300, '\xc3')));
  EXPECT_TRUE(IsUtf8(script->text));
  EXPECT_THAT(script->text, HasSubstr("Style: S,"));
  EXPECT_THAT(script->text, StartsWith("[Script Info]\n"));
}

TEST(SubtitleScript, OtherWordsHaveAnotherFingerprint) {
  const auto one = Script(TrackOf({Cue(0, kScriptSecond, "one")}));
  EXPECT_EQ(one->fingerprint, Script(TrackOf({Cue(0, kScriptSecond, "one")}))->fingerprint);
  EXPECT_NE(one->fingerprint, Script(TrackOf({Cue(0, kScriptSecond, "two")}))->fingerprint);
}

}  // namespace
}  // namespace gopmill
