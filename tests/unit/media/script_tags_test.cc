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

std::string Tamed(std::string_view event, double height = 288) {
  ScriptHead head;
  head.height = height;
  const std::string text = TameEvent(event, head).text;
  EXPECT_EQ(TameEvent(text, head).text, text) << "what is left needs no second look";
  return text;
}

TEST(ScriptTags, KeepsWhatAPictureCanShow) {
  for (const char* event :
       {"plain", "two\\Nlines\\h", "{\\i1}x{\\i0}y", "{\\b700\\fs40\\fscx120}x",
        "{\\pos(10,20.5)}x", "{\\t(0,500,\\blur3\\c&H0000FF&)}x",
        "{\\fnDejaVu Sans\\3c&HFF&\\bord2\\shad-1.5}x", "{\\an8\\fad(100,200)\\k50}x",
        "{\\clip(1,2,3,4)}x", "{\\rStyle}x{\\r}y", "{\\frz-45}x", "{\\move(1,2,3,4,5,6)}x",
        "{\\alpha&H80&}x", "C:\\best"}) {
    EXPECT_EQ(Tamed(event), event);
  }
}

TEST(ScriptTags, CutsSizes) {
  EXPECT_EQ(Tamed("{\\bord9999\\i1}x"), "{\\bord288\\i1}x");
  EXPECT_EQ(Tamed("{\\\txshad-9999}x"), "{\\xshad-288}x");
  EXPECT_EQ(Tamed("{\\fs\t9999}x"), "{\\fs288}x");
  EXPECT_EQ(Tamed("{\\ blur ( 1e9 )}x"), "{\\blur50}x");
  EXPECT_EQ(Tamed("{\\fs500\\fscy5000}x", 1080), "{\\fs500\\fscy300}x");
  EXPECT_EQ(Tamed("{\\t(0,1000,-10,\\fs9999)}x"), "{\\t(0,1000,0.01,\\fs288)}x");
}

TEST(ScriptTags, LeavesOutWhatHasNoBounds) {
  EXPECT_EQ(Tamed("{\\fs+288\\fs+288}x"), "x") << "relative sizes add up";
  EXPECT_EQ(Tamed("{\\frx45\\fry45\\fax100\\fay100\\pbo9}x"), "x");
  EXPECT_EQ(Tamed("{\\clip(m 0 0 l 9 9)}x"), "x");
  EXPECT_EQ(Tamed("{\\t(\\t(\\fs9))}x"), "x");
  EXPECT_EQ(Tamed("{\\fs1e999\\bordnan\\unknown5}x"), "x");
  EXPECT_EQ(Tamed("{\\i1}text{\\p1}m 0 0 l 8000 0"), "") << "drawings";
  EXPECT_EQ(Tamed("{comment}x{unclosed"), "x\\{unclosed");
  EXPECT_EQ(Tamed(std::string(kMaxEventBytes + 1, 'x')), "");
}

TEST(ScriptTags, NamesHideNoTags) {
  EXPECT_EQ(Tamed("{\\fn(\\fscx1e9\\bord1e5)}x"), "{\\fn}x");
  EXPECT_EQ(Tamed("{\\r(\\p1)}m 0 0 l 1e6 0"), "{\\r}m 0 0 l 1e6 0") << "words, not a drawing";
  EXPECT_EQ(Tamed("{\\fnFoo (Bar)\\b1}x"), "{\\fnFoo\\b1}x");
}

TEST(ScriptTags, EstimatesWhatIsPainted) {
  const ScriptHead head{.text = {}, .height = 100, .largest = {.letter = 10, .border = 0}};
  EXPECT_DOUBLE_EQ(TameEvent("1234567890", head).ink, 0.1);
  EXPECT_DOUBLE_EQ(TameEvent("{\\fs50\\fscx200}12", head).ink, 2);
  EXPECT_DOUBLE_EQ(TameEvent("1{\\t(\\bord20)}2", head).ink, 0.5);
  EXPECT_DOUBLE_EQ(TameEvent("\u041F\u4E2D", head).ink, 0.02) << "characters, not bytes";
}

TEST(ScriptTags, EstimatesByTheStylesOfTheEvent) {
  const ScriptHead head = WriteScriptHead(
      "[Script Info]\nPlayResY: 100\n[V4+ Styles]\nFormat: Name, Fontsize, Outline, ScaleX\n"
      "Style: Small,10,0,100\nStyle: Wide,10,0,200\nStyle: Large,50,0,100\n"
      "Style: *twice,10,0,100\nStyle: Twice,50,0,100\n");
  const auto ink = [&](std::string_view text, std::string_view style) {
    return TameEvent(text, head, style).ink;
  };
  EXPECT_DOUBLE_EQ(ink("1234567890", "Small"), 0.1);
  EXPECT_DOUBLE_EQ(ink("{\\r}1", "Small"), 0.01);
  EXPECT_DOUBLE_EQ(ink("{\\rLarge}1", "Small"), 0.25);
  EXPECT_DOUBLE_EQ(ink("{\\fs50}1", "Wide"), 1) << "its scale stays";
  EXPECT_DOUBLE_EQ(ink("1", "*Twice"), 0.25);
  for (const char* unknown :
       {"", "Smal", "other", "SMALL", "small", "Small*", "* Small", "Small\v"}) {
    EXPECT_DOUBLE_EQ(ink("1", unknown), 1.02 * 1.02) << "the largest of all";
  }
  EXPECT_DOUBLE_EQ(ink("{\\rother}1", "Small"), 1.02 * 1.02);
}

TEST(ScriptHead, WritesStylesByTheirFields) {
  const ScriptHead head = WriteScriptHead(
      "\xef\xbb\xbf[Script Info]\r\nPlayResX: 1920\r\nPlayResY: 1080\r\n[V4+ Styles]\r\nFormat: "
      "Name, Fontsize, Outline, PrimaryColour\r\nStyle: Sign,9999,-5,&H00FF00&z\r\n");
  EXPECT_EQ(head.height, 1080);
  EXPECT_THAT(head.text, HasSubstr("PlayResX: 1920\nPlayResY: 1080\n"));
  EXPECT_THAT(head.text, HasSubstr("\nStyle: Sign,Arial,1080,&H00FF00&,&Hffffff,&H0,&H0,0,0,0,0,"
                                   "100,100,0,0,1,0,0,2,10,10,10,1\n"));
}

TEST(ScriptHead, KeepsMarginsThatLeadOutOfThePicture) {
  const ScriptHead head = WriteScriptHead(
      "[Script Info]\nPlayResY: 200\n[V4+ Styles]\nFormat: Name, MarginL, MarginR, MarginV\n"
      "Style: S,-40,-9999,9999\nStyle: T,x,,-1\n");
  EXPECT_THAT(head.text, HasSubstr("Style: S,Arial,18,&Hffffff,&Hffffff,&H0,&H0,0,0,0,0,"
                                   "100,100,0,0,1,1,0,2,-40,-200,200,1\n"));
  EXPECT_THAT(head.text, HasSubstr(",2,0,10,-1,1\n"));
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

TEST(ScriptHead, KeepsColoursOfOldScripts) {
  const ScriptHead head = WriteScriptHead(
      "[V4 Styles]\nFormat: Name, PrimaryColour, BackColour\nStyle: A,16777215,-2147483640\n");
  EXPECT_THAT(head.text, HasSubstr("Style: A,Arial,18,16777215,&Hffffff,-2147483640,-2147483640,"));
}

TEST(ScriptHead, TakesNoCoordinatesThatAreNoPictures) {
  EXPECT_THAT(WriteScriptHead("[Script Info]\nPlayResX: 100\nPlayResY: 10000\n").text,
              Not(HasSubstr("PlayRes")));
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
