// SPDX-License-Identifier: Apache-2.0
#include "media/timed_text.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace gopmill {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kMicrosASecond = 1'000'000;

// What is said from second 1 to second 2 of a segment of four.
std::string Said(std::string text) {
  const std::vector<SubtitleCue> cues{
      {.start_us = kMicrosASecond, .end_us = 2 * kMicrosASecond, .text = std::move(text)}};
  const std::string document = TimedTextDocument(cues, 0, 0, 4 * kMicrosASecond);
  const std::size_t begin = document.find("c0\">") + 4;
  return document.substr(begin, document.find("</span></p>") - begin);
}

TEST(TimedText, ACueIsCutAtTheBordersOfItsSegment) {
  const std::vector<SubtitleCue> cues{
      {.start_us = 6'500'000, .end_us = 9'500'000, .text = "long"},
      {.start_us = 9'000'000, .end_us = 10'000'000, .text = "second"}};
  const auto segment = [&](int number) {
    return TimedTextDocument(cues, 5 * kMicrosASecond, number * 2 * kMicrosASecond,
                             (number + 1) * 2 * kMicrosASecond);
  };
  EXPECT_THAT(segment(0), HasSubstr("<p begin=\"00:00:01.500\" end=\"00:00:02.000\">"));
  EXPECT_THAT(segment(0), Not(HasSubstr("second")));
  EXPECT_THAT(segment(1), HasSubstr("<p begin=\"00:00:02.000\" end=\"00:00:04.000\">"));
  EXPECT_THAT(segment(1), Not(HasSubstr("second")));
  EXPECT_THAT(segment(2), HasSubstr("<p begin=\"00:00:04.000\" end=\"00:00:04.500\">"));
  EXPECT_THAT(segment(2), HasSubstr("<p begin=\"00:00:04.000\" end=\"00:00:05.000\">"));
  EXPECT_THAT(segment(3), Not(HasSubstr("<p "))) << "nothing is said";
  EXPECT_THAT(segment(3), HasSubstr("</tt>"));
}

TEST(TimedText, StylesStayAndLinesToo) {
  EXPECT_EQ(Said("a <i>b</i>\nc"), "a <span tts:fontStyle=\"italic\">b</span><br/>c");
  EXPECT_EQ(
      Said("<b>b</b><u>u</u>"),
      "<span tts:fontWeight=\"bold\">b</span><span tts:textDecoration=\"underline\">u</span>");
  EXPECT_EQ(Said("<c.red>x</c> <v Ann>y <00:00:01.000>z"), "x y z") << "no style for these";
}

TEST(TimedText, IsWellFormedWhateverIsSaid) {
  EXPECT_EQ(Said("<i>open"), "<span tts:fontStyle=\"italic\">open</span>");
  EXPECT_EQ(Said("<i><b>x</i></b>"),
            "<span tts:fontStyle=\"italic\"><span "
            "tts:fontWeight=\"bold\">x</span></span>");
  EXPECT_EQ(Said("</i>x</"), "x&lt;/");
  EXPECT_EQ(Said("a & b < c > d && e"), "a &amp; b &lt; c &gt; d &amp;&amp; e");
  EXPECT_EQ(Said("&lt;i&gt; &amp; &quot;"), "&lt;i&gt; &amp; &amp;quot;");
  EXPECT_EQ(Said("a\x01\x1b\x7f\xEF\xBF\xBF!"), "a\x7f!") << "what XML has no character for";
  EXPECT_EQ(Said("<"), "&lt;");
  EXPECT_EQ(Said("&nbsp;"), "\xC2\xA0");
}

TEST(TimedText, SegmentsAreFragmentsOfTheirTrack) {
  const auto init = MakeTimedTextInit("eng");
  ASSERT_TRUE(init.ok()) << init.error().ToString();
  for (const char* const box : {"ftyp", "moov", "stpp", "sthd", "http://www.w3.org/ns/ttml"}) {
    EXPECT_THAT(*init, HasSubstr(box));
  }
  const std::string document = TimedTextDocument({}, 0, 2 * kMicrosASecond, 4 * kMicrosASecond);
  const auto segment = MakeTimedTextSegment(7, 2000, 4000, document);
  ASSERT_TRUE(segment.ok()) << segment.error().ToString();
  EXPECT_EQ(segment->substr(4, 4), "styp");
  EXPECT_THAT(*segment, HasSubstr(std::string("tfdt\1\0\0\0\0\0\0\0\0\0\x07\xd0", 16)));
  EXPECT_TRUE(segment->ends_with(document)) << "and nothing else";
  EXPECT_EQ(*MakeTimedTextSegment(7, 2000, 4000, document), *segment);
}

}  // namespace
}  // namespace gopmill
