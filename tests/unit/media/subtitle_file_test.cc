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
#include <utility>
#include <vector>

namespace gopmill {
namespace {

using ::testing::ElementsAre;

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
std::vector<std::string> CuesOf(const char* name, const std::string& text,
                                TextUse use = TextUse::kWebVtt) {
  UniqueFd fd(memfd_create("text", MFD_CLOEXEC));
  EXPECT_EQ(write(fd.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  lseek(fd.get(), 0, SEEK_SET);
  const auto track = ReadSubtitleFile(std::move(fd), *DescribeSubtitleFile("movie", name), {}, use);
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

// A script of these lines of text.
std::string ScriptOf(const std::vector<std::string>& lines) {
  std::string script =
      "[Script Info]\nScriptType: v4.00+\n\n[Events]\nFormat: Layer, Start, End, Style, Name, "
      "MarginL, MarginR, MarginV, Effect, Text\n";
  for (const std::string& line : lines) {
    script += "Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,," + line + "\n";
  }
  return script;
}

TEST(SubtitleFile, DrawingsAreNoText) {
  EXPECT_THAT(CuesOf("movie.ass", ScriptOf({"{\\an7\\p1}m 0 0 l 100 0 100 100{\\p0}",
                                            "{\\pos(1,2)}A{\\p2}m 0 0{\\p0} sign"})),
              ElementsAre("A sign"));
}

TEST(SubtitleFile, EscapesOfScriptsAreNoText) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"a\\hb",
       "a\xC2\xA0"
       "b"},
      {"\\{a\\}, {\\i1}b{\\i0}", "{a}, <i>b</i>"},
      {"a{TL note, \xC3\xBC}b", "ab"},
      {"{only a comment}", "nothing"},
      {"\\{\\Na\\nb", "{\xE2\x81\xA0\na\nb"},
      {"\\{\\pos}", "{\xE2\x81\xA0\\pos}"},
      {"a {\\b1 and a note}b{comment\\b0}c", "a <b>b</b>c"},
      {"{\\b100}a{\\i1)}b", "a<i>b</i>"},
      {"a{b", "a{b"},
      {"a{\\b", "a{\xE2\x81\xA0\\b"},
      {"a}\\c\\", "a}\\c\\"},
      {"a, {b}, c", "a, , c"},
  };
  for (const auto& [text, said] : cases) {
    const auto cues = CuesOf("movie.ass", ScriptOf({text}));
    EXPECT_EQ(cues.empty() ? "nothing" : cues[0], said) << text;
  }
}

TEST(SubtitleFile, EscapesAreNoTextInMp4) {
  const std::string sample(
      "\x00\x04"
      "a\xC2\xA0"
      "b",
      6);
  EXPECT_THAT(CuesOf("movie.ass", ScriptOf({"{note}a\\hb"}), TextUse::kMp4),
              ElementsAre(testing::StartsWith(sample)));
  EXPECT_THAT(CuesOf("movie.ass", ScriptOf({"{note}"}), TextUse::kMp4), ElementsAre());
}

TEST(SubtitleFile, WebVttSaysWhatItsEscapesMean) {
  const auto said = [](const std::string& text) {
    const auto cues =
        CuesOf("movie.vtt", "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\n" + text + "\n");
    return cues.size() == 1 ? cues[0] : "nothing";
  };
  EXPECT_EQ(said("10&nbsp;000"),
            "10\xC2\xA0"
            "000");
  EXPECT_EQ(said("{a} <i>b</i> {c\n{d"), "{a} <i>b</i> {c\n{d");
}

// Its decoder writes braces and backslashes as they are.
TEST(SubtitleFile, SubRipHasNoEscapes) {
  EXPECT_EQ(Said("movie.srt", "C:\\home {and so on} \\{"), "C:\\home {and so on} \\{");
}

TEST(SubtitleFile, ADamagedByteMakesNoOtherCharset) {
  const std::string text =
      "1\n00:00:01,000 --> 00:00:02,000\nF\xC3\xBCnf \xC3\xA9t\xC3\xA9\n\n"
      "2\n00:00:03,000 --> 00:00:04,000\n\xFC\n";
  EXPECT_THAT(CuesOf("movie.srt", text), ElementsAre("F\xC3\xBCnf \xC3\xA9t\xC3\xA9"));
}

// UTF-16 with its mark, of text in UTF-8's three bytes at most, and of what lies beyond.
std::string Utf16(const std::u16string& text, bool big) {
  std::string bytes = big ? "\xFE\xFF" : "\xFF\xFE";
  for (const char16_t unit : text) {
    const char high = static_cast<char>(unit >> 8U), low = static_cast<char>(unit & 0xFFU);
    bytes += big ? high : low;
    bytes += big ? low : high;
  }
  return bytes;
}

TEST(SubtitleFile, Utf16IsReadInEveryForm) {
  const std::u16string words = u"\u041F\u0440\u0438 \u4E2D \U0001F3AC";
  const std::string expected = "\u041F\u0440\u0438 \u4E2D \U0001F3AC";
  for (const bool big : {false, true}) {
    for (const char16_t* end : {u"\n", u"\r\n"}) {
      const std::u16string eol = end;
      const auto cue = [&](const std::u16string& at) {
        return u"00:00:0" + at + u"00 --> 00:00:0" + at + u"90" + eol + words + eol + eol;
      };
      EXPECT_THAT(
          CuesOf("movie.srt", Utf16(u"1" + eol + cue(u"1,") + u"2" + eol + cue(u"2,"), big)),
          ElementsAre(expected, expected));
      EXPECT_THAT(CuesOf("movie.vtt", Utf16(u"WEBVTT" + eol + eol + cue(u"1.") + cue(u"2."), big)),
                  ElementsAre(expected, expected));
    }
    EXPECT_THAT(CuesOf("movie.ass", Utf16(u"[Events]\nFormat: Layer, Start, End, Style, Name, "
                                          u"MarginL, MarginR, MarginV, Effect, Text\nDialogue: "
                                          u"0,0:00:01.00,0:00:02.00,Default,,0,0,0,," +
                                              words + u"\n",
                                          big)),
                ElementsAre(expected));
  }
}

TEST(SubtitleFile, WhatIsNoCharacterOfUtf16IsReplaced) {
  const std::u16string head = u"1\n00:00:01,000 --> 00:00:02,000\n";
  const std::u16string lone{u'a', 0xD83C, u'b', 0xDFAC, u'c', 0, u'd', 0xD83C};
  EXPECT_THAT(CuesOf("movie.srt", Utf16(head + lone, false) + "x"),
              ElementsAre("a\uFFFDb\uFFFDc\uFFFDd\uFFFD\uFFFD"));
}

// FFmpeg 5.1 stops at the first block that is none.
TEST(SubtitleFile, WebVttMayHaveMoreThanCues) {
  const std::string style = "STYLE\n::cue { color: red }\n\n", region = "REGION\nid:a\nlines:3\n\n",
                    note = "NOTE a --> b\n\n", stray = "a stray\nblock\n\n",
                    broken = "1\n00:00:0x.000 --> 00:00:02.000\nlost\n\n",
                    first = "a name\n00:01.000 --> 00:02.000 line:0\nA\n\n",
                    second = "\n\n100:00:03.000 --> 100:00:04.000\nB\nand C";
  const std::string text =
      "WEBVTT - x\n\n" + style + region + note + first + stray + broken + style + second;
  EXPECT_THAT(CuesOf("movie.vtt", text), ElementsAre("A", "B\nand C"));
  std::string windows = "\xEF\xBB\xBF", old;
  for (const char c : text) (c == '\n' ? windows += "\r\n" : windows += c);
  for (const char c : text) old += c == '\n' ? '\r' : c;
  EXPECT_THAT(CuesOf("movie.vtt", windows), ElementsAre("A", "B\nand C"));
  EXPECT_THAT(CuesOf("movie.vtt", old), ElementsAre("A", "B\nand C"));
}

TEST(SubtitleFile, ATimeOfWebVttEndsTheCueBeforeIt) {
  EXPECT_THAT(CuesOf("movie.vtt",
                     "\xEF\xBB\xBF"
                     "00:01.000 --> 00:02.000\nA\n00:03.000 --> 00:04.000\nC\n"),
              ElementsAre("A", "C"));
}

TEST(SubtitleFile, CuesThatLastNoTimeAreNotShown) {
  EXPECT_THAT(CuesOf("movie.srt",
                     "1\n00:00:01,000 --> 00:00:01,000\nnever\n\n"
                     "2\n00:00:03,000 --> 00:00:04,000\nA\n\n"),
              ElementsAre("A"));
  EXPECT_THAT(CuesOf("movie.vtt",
                     "WEBVTT\n\n00:01.000 --> 00:02.000\nA\n\n"
                     "00:03.000 --> 00:03.000\nnever\n"),
              ElementsAre("A"));
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
