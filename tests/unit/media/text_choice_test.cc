// SPDX-License-Identifier: Apache-2.0
#include "media/text_choice.h"

#include <gmock/gmock.h>

#include "media/cue_packet.h"

namespace gopmill {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;

SubtitleTrack Track(std::string language, std::string title) {
  SubtitleTrack track;
  track.language = std::move(language);
  track.title = std::move(title);
  return track;
}

TEST(FollowTexts, FindsTracksInAnyOrder) {
  const std::vector wanted{Track("eng", ""), Track("eng", "SDH"), Track("ger", "")};
  EXPECT_THAT(FollowTexts(wanted, wanted), ElementsAre(Eq(0U), Eq(1U), Eq(2U)));
  EXPECT_THAT(FollowTexts(wanted, {Track("ger", ""), Track("eng", "SDH"), Track("eng", "")}),
              ElementsAre(Eq(2U), Eq(1U), Eq(0U)));
}

TEST(FollowTexts, TakesAnotherTitleButNoOtherLanguage) {
  const std::vector wanted{Track("eng", "Forced"), Track("ger", "")};
  EXPECT_THAT(FollowTexts(wanted, {Track("fre", ""), Track("eng", "English")}),
              ElementsAre(std::nullopt, Eq(0U)));
  EXPECT_THAT(FollowTexts({}, {Track("fre", "")}), ElementsAre(std::nullopt));
  EXPECT_THAT(FollowTexts(wanted, {}), ElementsAre());
}

TEST(CuePacket, ComesBackAsItWas) {
  for (const std::int64_t end : {std::int64_t{1'500'000}, kNoEnd}) {
    const SubtitleCue cue{.start_us = 1'000'000, .end_us = end, .text = "two\nlines"};
    const av::Packet packet = MakeCuePacket(cue, 3);
    EXPECT_EQ(packet->stream_index, 3);
    packet->pts += 250;
    const SubtitleCue read = ReadCuePacket(*packet);
    EXPECT_EQ(read.start_us, 1'000'250);
    EXPECT_EQ(read.end_us, end == kNoEnd ? kNoEnd : end + 250);
    EXPECT_EQ(read.text, cue.text);
  }
}

}  // namespace
}  // namespace gopmill
