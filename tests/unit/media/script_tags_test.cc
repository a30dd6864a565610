// SPDX-License-Identifier: Apache-2.0
//
// What of a script's head and events is drawn: media/script_head.h, media/script_tags.h.
#include "media/script_tags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "media/script_head.h"

namespace gopmill {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ScriptTags, KeepsWhatAPictureCanShow) {
  for (const char* event :
       {"plain", "two\\Nlines\\h", "{\\i1}x{\\i0}y", "{\\b700\\fs40\\fscx120}x",
        "{\\pos(10,20.5)}x", "{\\t(0,500,\\blur3\\c&H0000FF&)}x",
        "{\\fnDejaVu Sans\\3c&HFF&\\bord2\\shad-1.5}x", "{\\an8\\fad(100,200)\\k50}x",
        "{\\clip(1,2,3,4)}x", "{\\rStyle}x{\\r}y", "{\\frz-45}x", "{\\move(1,2,3,4,5,6)}x",
        "{\\alpha&H80&}x", "C:\\best"}) {
    EXPECT_EQ(TameEvent(event, 288), event);
  }
}

TEST(ScriptTags, CutsSizes) {
  EXPECT_EQ(TameEvent("{\\bord9999\\i1}x", 288), "{\\bord288\\i1}x");
  EXPECT_EQ(TameEvent("{\\\txshad-9999}x", 288), "{\\xshad-288}x");
  EXPECT_EQ(TameEvent("{\\fs\t9999}x", 288), "{\\fs288}x");
  EXPECT_EQ(TameEvent("{\\ blur ( 1e9 )}x", 288), "{\\blur50}x");
  EXPECT_EQ(TameEvent("{\\fs500\\fscy5000}x", 1080), "{\\fs500\\fscy300}x");
  EXPECT_EQ(TameEvent("{\\t(0,1000,-10,\\fs9999)}x", 288), "{\\t(0,1000,0.01,\\fs288)}x");
}

TEST(ScriptTags, LeavesOutWhatHasNoBounds) {
  EXPECT_EQ(TameEvent("{\\fs+288\\fs+288}x", 288), "x") << "relative sizes add up";
  EXPECT_EQ(TameEvent("{\\frx45\\fry45\\fax100\\fay100\\pbo9}x", 288), "x");
  EXPECT_EQ(TameEvent("{\\clip(m 0 0 l 9 9)}x", 288), "x");
  EXPECT_EQ(TameEvent("{\\t(\\t(\\fs9))}x", 288), "{\\t()}x");
  EXPECT_EQ(TameEvent("{\\fs1e999\\bordnan\\unknown5}x", 288), "x");
  EXPECT_EQ(TameEvent("{\\i1}text{\\p1}m 0 0 l 8000 0", 288), "") << "drawings";
  EXPECT_EQ(TameEvent("{comment}x{unclosed", 288), "xunclosed");
  EXPECT_EQ(TameEvent(std::string(kMaxEventBytes + 1, 'x'), 288), "");
}

TEST(ScriptHead, WritesStylesByTheirFields) {
  const ScriptHead head = WriteScriptHead(
      "\xef\xbb\xbf[Script Info]\r\nPlayResX: 1920\r\nPlayResY: 1080\r\n[V4+ Styles]\r\nFormat: "
      "Name, Fontsize, Outline, PrimaryColour\r\nStyle: Sign,9999,-5,&H00FF00&x\r\n");
  EXPECT_EQ(head.height, 1080);
  EXPECT_THAT(head.text, HasSubstr("PlayResX: 1920\nPlayResY: 1080\n"));
  EXPECT_THAT(head.text, HasSubstr("\nStyle: Sign,Arial,1080,&H00FF00&,&Hffffff,&H0,&H0,0,0,0,0,"
                                   "100,100,0,0,1,0,0,2,10,10,10,1\n"));
}

TEST(ScriptHead, PutsTheStylesOfOldScriptsIntoTheNewForm) {
  const ScriptHead head =
      WriteScriptHead("[V4 Styles]\nFormat: Name, BackColour, Alignment\nStyle: Top,&H12,6\n");
  EXPECT_THAT(head.text, HasSubstr("Style: Top,Arial,18,&Hffffff,&Hffffff,&H12,&H12,"));
  EXPECT_THAT(head.text, HasSubstr(",8,10,10,10,1\n")) << "top, in the middle";
}

TEST(ScriptHead, TakesNothingElse) {
  const ScriptHead head = WriteScriptHead(
      "PlayResY: 1\n[Script Info]\nPlayResY: 1e3\n PlayResX: 1\nPlayResX: inf\nLayoutResX: 1\n"
      "[V4+ Styles]\nDialogue: 0,0:00:00.00,9:00:00.00,Default,,0,0,0,,{\\fs99999}X\n"
      "x\rStyle: CR,Sans,99999x,,,,,,,,,\t1000000\n[Fonts]\nfontname: f\n");
  EXPECT_EQ(head.height, 288);
  EXPECT_THAT(head.text, Not(HasSubstr("PlayRes")));
  EXPECT_THAT(head.text, Not(HasSubstr("Dialogue")));
  EXPECT_THAT(head.text, Not(HasSubstr("fontname: f")));
  EXPECT_THAT(head.text, HasSubstr("Style: CR,Sans,288,"));
  EXPECT_THAT(head.text, HasSubstr(",300,100,"));
}

TEST(ScriptHead, HasAnEndToItsStyles) {
  std::string header = "[V4+ Styles]\n";
  for (std::size_t i = 0; i < 2 * kMaxStyles; ++i) header += "Style: a\n";
  const std::string text = WriteScriptHead(header).text;
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find("\nStyle: ", at)) != std::string::npos; ++at) ++count;
  EXPECT_EQ(count, kMaxStyles);
}

}  // namespace
}  // namespace gopmill
