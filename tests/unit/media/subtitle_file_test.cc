// SPDX-License-Identifier: Apache-2.0
//
// What the name of a file of subtitles says. Their contents: tests/integration/tracks_test.py.
#include "media/subtitle_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ostream>
#include <string>
#include <vector>

namespace gopmill {
namespace {

struct NameCase {
  const char* file;
  const char* codec;
  const char* language;
  const char* title;
  bool forced, is_default;
};
void PrintTo(const NameCase& name, std::ostream* out) { *out << name.file; }

class SubtitleNameTest : public testing::TestWithParam<NameCase> {};

TEST_P(SubtitleNameTest, SaysWhatTheTrackIs) {
  const NameCase& expected = GetParam();
  const auto track = DescribeSubtitleFile("movie", expected.file);
  ASSERT_TRUE(track.has_value());
  EXPECT_EQ(track->codec, expected.codec);
  EXPECT_EQ(track->language, expected.language);
  EXPECT_EQ(track->title, expected.title);
  EXPECT_EQ(track->forced, expected.forced);
  EXPECT_EQ(track->is_default, expected.is_default);
}

INSTANTIATE_TEST_SUITE_P(
    Names, SubtitleNameTest,
    testing::Values(NameCase{"movie.srt", "subrip", "", "", false, false},
                    NameCase{"movie.EN.SRT", "subrip", "en", "", false, false},
                    NameCase{"movie.pt-BR.forced.vtt", "webvtt", "pt-BR", "", true, false},
                    NameCase{"movie.ger.default.ass", "ass", "ger", "", false, true},
                    NameCase{"movie.en.sdh.srt", "subrip", "en", "sdh", false, false},
                    NameCase{"movie.cc.en.ssa", "ass", "en", "cc", false, false},
                    NameCase{"movie.Director's cut.fr.de.srt", "subrip", "fr", "Director's cut de",
                             false, false},
                    NameCase{"movie..\"x\"\n.srt", "subrip", "", "\"x\"", false, false}));

TEST(SubtitleFile, OthersAreNotTheMovies) {
  for (const char* file : {"movie", "movie.mp4", "movies.srt", "movie srt", "other.srt", ".srt", "",
                           "movie.srt.bak", "movie.sub"}) {
    EXPECT_FALSE(DescribeSubtitleFile("movie", file).has_value()) << file;
  }
}

// What is said in a file of this name beside a movie, cue by cue.
std::vector<std::string> CuesOf(const char* name, const std::string& text) {
  UniqueFd fd(memfd_create("text", MFD_CLOEXEC));
  EXPECT_EQ(write(fd.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  lseek(fd.get(), 0, SEEK_SET);
  const auto track = ReadSubtitleFile(std::move(fd), *DescribeSubtitleFile("movie", name), {});
  std::vector<std::string> said;
  if (!track.ok()) return said;
  for (const SubtitleCue& cue : track->cues) said.push_back(cue.text);
  return said;
}

// The same of one cue of these bytes.
std::string Said(const char* name, const std::string& bytes) {
  const auto cues = CuesOf(name, "1\n00:00:01,000 --> 00:00:02,000\n" + bytes + "\n");
  return cues.size() == 1 ? cues[0] : "nothing";
}

TEST(SubtitleFile, TextThatIsNotUtf8IsThatOfItsLanguage) {
  EXPECT_EQ(Said("movie.srt", "F\xFCnf"), "F\xC3\xBCnf");
  EXPECT_EQ(Said("movie.de.srt", "F\xC3\xBCnf"), "F\xC3\xBCnf") << "it is UTF-8";
  EXPECT_EQ(Said("movie.ru.srt", "\xCF\xF0\xE8"), "\xD0\x9F\xD1\x80\xD0\xB8");
  EXPECT_EQ(Said("movie.rus.forced.srt", "\xCF\xF0\xE8"), "\xD0\x9F\xD1\x80\xD0\xB8");
  EXPECT_EQ(Said("movie.pl.srt", "\xB3"), "\xC5\x82");
  EXPECT_EQ(Said("movie.hrv.srt", "\xE8"), "\xC4\x8D");
  EXPECT_EQ(Said("movie.ja.srt", "\x93\xFA"), "\xE6\x97\xA5");
}

TEST(SubtitleFile, DrawingsAreNoText) {
  const std::string line = "Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,";
  const std::string text =
      "[Script Info]\nScriptType: v4.00+\n\n[Events]\nFormat: Layer, Start, End, Style, Name, "
      "MarginL, MarginR, MarginV, Effect, Text\n" +
      line + "{\\an7\\p1}m 0 0 l 100 0 100 100{\\p0}\n" + line +
      "{\\pos(1,2)}A{\\p2}m 0 0{\\p0} sign\n";
  EXPECT_THAT(CuesOf("movie.ass", text), ElementsAre("A sign"));
}

TEST(SubtitleFile, ADamagedByteMakesNoOtherCharset) {
  const std::string text =
      "1\n00:00:01,000 --> 00:00:02,000\nF\xC3\xBCnf \xC3\xA9t\xC3\xA9\n\n"
      "2\n00:00:03,000 --> 00:00:04,000\n\xFC\n";
  EXPECT_THAT(CuesOf("movie.srt", text), ElementsAre("F\xC3\xBCnf \xC3\xA9t\xC3\xA9"));
}

// Players split playlists into lines in their own ways.
TEST(TagText, IsOneLineForEveryReader) {
  EXPECT_EQ(TagText("a\r\nb\tc\x7f\"d"), "abc\"d");
  EXPECT_EQ(TagText("one\xC2\x85two\xE2\x80\xA8three\xE2\x80\xA9"
                    "four\xC2\x80"),
            "onetwothreefour");
  EXPECT_EQ(TagText("\xEF\xBF\xBEx\xEF\xBF\xBFy\xFF"), "xy");
  EXPECT_EQ(TagText("caf\xC3\xA9 <\xE4\xB8\xAD> \xF0\x9F\x8E\xAC"),
            "caf\xC3\xA9 <\xE4\xB8\xAD> \xF0\x9F\x8E\xAC");
}

}  // namespace
}  // namespace gopmill
