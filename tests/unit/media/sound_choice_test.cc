// SPDX-License-Identifier: Apache-2.0
#include "media/sound_choice.h"

#include <gmock/gmock.h>

namespace gopmill {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;

// Streams 1, 2 and 3 of a file, the second of which is the best, and all are read.
std::shared_ptr<const SourceInfo> ThreeSounds() {
  auto info = std::make_shared<SourceInfo>();
  for (const int stream : {1, 2, 3}) {
    AudioInfo track;
    track.stream_index = stream;
    info->audio_tracks.push_back(track);
  }
  info->audio = info->audio_tracks[1];
  info->more_audio = {info->audio_tracks[0], info->audio_tracks[2]};
  return info;
}

std::vector<int> StreamsOf(const SourceInfo& info) {
  std::vector<int> streams;
  for (std::size_t i = 0; i < info.sounds(); ++i) streams.push_back(info.sound(i).stream_index);
  return streams;
}

TEST(ChooseSounds, TakesTheBestAlone) {
  const auto choice = ChooseSounds(ThreeSounds(), {});
  ASSERT_TRUE(choice.ok());
  EXPECT_THAT(StreamsOf(*choice->info), ElementsAre(2));
  EXPECT_THAT(choice->place, ElementsAre(Eq(0U), std::nullopt, std::nullopt));
}

TEST(ChooseSounds, TakesThoseThatAreNamedInTheirOrder) {
  const auto choice = ChooseSounds(ThreeSounds(), {.first = 3, .more = {1}});
  ASSERT_TRUE(choice.ok());
  EXPECT_THAT(StreamsOf(*choice->info), ElementsAre(3, 1));
  EXPECT_THAT(choice->place, ElementsAre(std::nullopt, Eq(1U), Eq(0U)));
}

TEST(ChooseSounds, SharesWhatAllReadersSee) {
  const auto info = ThreeSounds();
  const auto choice = ChooseSounds(info, {.all = true});
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->info, info);
  EXPECT_THAT(choice->place, ElementsAre(Eq(0U), Eq(1U), Eq(2U)));
}

TEST(ChooseSounds, RefusesTracksThatAreNotThere) {
  const auto wrong = ChooseSounds(ThreeSounds(), {.first = 4});
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().parameter, "audio");
  EXPECT_EQ(wrong.error().accepted, "1 to 3");
  const auto silent = std::make_shared<SourceInfo>();
  EXPECT_TRUE(ChooseSounds(silent, {.all = true}).ok());
  EXPECT_FALSE(ChooseSounds(silent, {.first = 1}).ok());
}

// A publisher by RTSP lists no tracks.
TEST(ChooseSounds, CountsWhatIsReadWhereNothingIsListed) {
  auto info = std::make_shared<SourceInfo>();
  info->audio.emplace().stream_index = 7;
  const auto choice = ChooseSounds(info, {.first = 1});
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->info, info);
  EXPECT_FALSE(ChooseSounds(info, {.first = 2}).ok());
}

}  // namespace
}  // namespace gopmill
