// SPDX-License-Identifier: Apache-2.0
#include "media/script_limits.h"

#include <gtest/gtest.h>

namespace gopmill {
namespace {

TEST(ScriptLimits, TheLargestSizeIsThePicturesHeight) {
  EXPECT_EQ(LargestSize(""), 288);
  EXPECT_EQ(LargestSize("[Script Info]\nPlayResX: 1920\nPlayResY: 1080\n"), 1080);
  EXPECT_EQ(LargestSize("playresy:720\n"), 720);
  EXPECT_EQ(LargestSize("PlayResY: 1\n"), 288) << "left out of the header";
}

TEST(ScriptLimits, EventsWithinAreAsTheyWere) {
  for (const char* event : {"", "plain", "{\\bord4\\shad1.5}x", "{\\fs40\\fscx120}x",
                            "{\\t(0,500,\\blur3)}x", "{\\pos(9999,9999)\\fnArial}x\\Ny", "{\\be}x",
                            "\\", "{\\bord}", "{\\bord-3}", "C:\\best"}) {
    EXPECT_EQ(TameEvent(event, 288), event);
  }
}

TEST(ScriptLimits, SizesBeyondAreCut) {
  EXPECT_EQ(TameEvent("{\\bord9999\\i1}x", 288), "{\\bord288\\i1}x");
  EXPECT_EQ(TameEvent("{\\xshad-9999}x", 288), "{\\xshad-288}x");
  EXPECT_EQ(TameEvent("{\\ blur ( 1e30 )}x", 288), "{\\ blur ( 288 )}x");
  EXPECT_EQ(TameEvent("{\\fs99999999999999999999}x", 288), "{\\fs288}x");
  EXPECT_EQ(TameEvent("{\\fs500\\fscy5000}x", 1080), "{\\fs500\\fscy300}x");
  EXPECT_EQ(TameEvent("{\\t(\\ybord1000)}x", 288), "{\\t(\\ybord288)}x");
}

TEST(ScriptLimits, StylesAreCutToo) {
  EXPECT_EQ(TameHeaderLine("Style: A,Sans,20,&H00FFFFFF,0,100,2", 288),
            "Style: A,Sans,20,&H00FFFFFF,0,100,2");
  EXPECT_EQ(TameHeaderLine("Style: A,Sans,99999,&H00FFFFFF,-1e9,2", 288),
            "Style: A,Sans,300,&H00FFFFFF,-300,2");
  EXPECT_EQ(TameHeaderLine("Title: 99999", 288), "Title: 99999");
}

TEST(ScriptLimits, UnitsLargerThanAHundredthOfThePictureAreLeftOut) {
  for (const char* line :
       {"PlayResX: 1", "PlayResY: -5", "playresy: nan", "PlayResY: 1e-9", "PlayResY:"}) {
    EXPECT_EQ(TameHeaderLine(line, 288), "") << line;
  }
  EXPECT_EQ(TameHeaderLine("PlayResY: 100", 288), "PlayResY: 100");
}

}  // namespace
}  // namespace gopmill
