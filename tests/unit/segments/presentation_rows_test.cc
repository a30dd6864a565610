// SPDX-License-Identifier: Apache-2.0
#include "server/segments/presentation_rows.h"

extern "C" {
#include <libavformat/avformat.h>
}

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace gopmill {
namespace {

// Which of the lines have AUTOSELECT=YES, as in "10".
std::string Found(const std::string& lines) {
  std::string found;
  constexpr std::string_view kWord = "AUTOSELECT=";
  for (auto at = lines.find(kWord); at != std::string::npos; at = lines.find(kWord, at + 1)) {
    found += lines.compare(at + kWord.size(), 3, "YES") == 0 ? '1' : '0';
  }
  return found;
}

std::string FoundBySettings(const std::vector<SubtitleRendition>& texts) {
  return Found(SubtitleMedia(texts, ""));
}

std::string FoundByLanguage(const std::vector<SoundRow>& sounds) {
  return Found(SoundMedia(sounds));
}

TEST(SoundMediaTest, OfALanguageTheChosenOrFirstIsFound) {
  constexpr int kDescription = AV_DISPOSITION_VISUAL_IMPAIRED;
  EXPECT_EQ(FoundByLanguage({{.name = "a", .language = "en"},
                             {.name = "b", .language = "de"},
                             {.name = "c", .language = "en"}}),
            "110");
  EXPECT_EQ(FoundByLanguage({{.name = "a", .language = "en"},
                             {.name = "b", .language = "en", .chosen = true},
                             {.name = "c", .language = "en", .roles = kDescription}}),
            "011")
      << "a description of the pictures is looked for by itself";
}

TEST(PicturesMediaTest, NamesSoundWhereThereIsSome) {
  const PicturesRow pictures{.name = "v0",
                             .codecs = "avc1.64001F",
                             .range = {},
                             .width = 640,
                             .height = 360,
                             .fps = {25, 1},
                             .peak_bps = 900,
                             .average_bps = 600};
  EXPECT_EQ(PicturesMedia(pictures, {}, "", "?q"),
            "#EXT-X-STREAM-INF:BANDWIDTH=900,AVERAGE-BANDWIDTH=600,CODECS=\"avc1.64001F\","
            "RESOLUTION=640x360,FRAME-RATE=25.000\nv0.m3u8?q\n");
  EXPECT_EQ(PicturesMedia(pictures, {"mp4a.40.2", 50, 40}, ",SUBTITLES=\"text\"", ""),
            "#EXT-X-STREAM-INF:BANDWIDTH=950,AVERAGE-BANDWIDTH=640,"
            "CODECS=\"avc1.64001F,mp4a.40.2\",RESOLUTION=640x360,FRAME-RATE=25.000,"
            "AUDIO=\"sound\",SUBTITLES=\"text\"\nv0.m3u8\n");
}

TEST(SubtitleMediaTest, TextForTheHardOfHearingIsFoundBySettings) {
  constexpr int kSdh = AV_DISPOSITION_HEARING_IMPAIRED;
  EXPECT_EQ(FoundBySettings({{.name = "a", .language = "en"},
                             {.name = "b", .language = "en", .roles = kSdh},
                             {.name = "c", .language = "en", .roles = kSdh},
                             {.name = "d", .language = "de", .roles = kSdh}}),
            "0101")
      << "one of each language (RFC 8216 section 4.3.4.1.1)";
  EXPECT_EQ(FoundBySettings({{.name = "a", .language = "", .forced = true, .roles = kSdh},
                             {.name = "b", .language = "", .roles = kSdh},
                             {.name = "c", .language = "", .is_default = true}}),
            "111");
}

TEST(DashCodecsTest, OpusHasTheNameThatBrowsersKnowLongest) {
  SegmentTrack track;
  track.codecs = "Opus";
  EXPECT_EQ(DashCodecs(track), "opus");
  track.codecs = "mp4a.40.2";
  EXPECT_EQ(DashCodecs(track), "mp4a.40.2");
}

}  // namespace
}  // namespace gopmill
