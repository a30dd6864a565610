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

// As a publisher lists them: language or language/title, all read in this order.
std::shared_ptr<const SourceInfo> Publisher(const std::vector<std::string>& names) {
  auto info = std::make_shared<SourceInfo>();
  for (const std::string& name : names) {
    AudioInfo track;
    track.stream_index = static_cast<int>(info->audio_tracks.size()) + 1;
    track.language = name.substr(0, 2);
    track.title = name.size() > 3 ? name.substr(3) : "";
    info->audio_tracks.push_back(track);
  }
  if (names.empty()) return info;
  info->audio = info->audio_tracks.front();
  info->more_audio.assign(info->audio_tracks.begin() + 1, info->audio_tracks.end());
  return info;
}

constexpr int kSilent = 0;

// Of the tracks that somebody had of `before`, those of `after`.
std::vector<int> Followed(const std::vector<std::string>& before,
                          const std::vector<std::string>& after, const AudioTracks& wanted) {
  const auto now = ChooseSounds(Publisher(before), wanted);
  EXPECT_TRUE(now.ok());
  const auto next = FollowSource(*now->info, Publisher(after), wanted);
  std::vector<int> streams = StreamsOf(*next.info);
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (next.info->sound(i).silent) streams[i] = kSilent;
  }
  return streams;
}

TEST(FollowSource, FindsTracksThatHaveChangedPlaces) {
  EXPECT_THAT(Followed({"en", "de"}, {"de", "en"}, {.all = true}), ElementsAre(2, 1));
  EXPECT_THAT(Followed({"en", "de"}, {"de", "en"}, {}), ElementsAre(2));
  EXPECT_THAT(Followed({"en", "de"}, {"de", "en"}, {.first = 2}), ElementsAre(1));
}

TEST(FollowSource, TellsTracksOfOneLanguageApartByTheirTitles) {
  EXPECT_THAT(Followed({"en/main", "en/talk"}, {"en/talk", "en/main"}, {.all = true}),
              ElementsAre(2, 1));
  EXPECT_THAT(Followed({"en/main", "de"}, {"de", "en/Main"}, {.all = true}), ElementsAre(2, 1));
}

TEST(FollowSource, GoesByTheNumberWhereNothingSaysMore) {
  EXPECT_THAT(Followed({"", ""}, {"", ""}, {.first = 2}), ElementsAre(2));
  EXPECT_THAT(Followed({"", "", ""}, {"", "", ""}, {.first = 3, .more = {1}}), ElementsAre(3, 1));
}

TEST(FollowSource, HasSilenceForWhatIsNotThere) {
  EXPECT_THAT(Followed({"en", "de"}, {"de"}, {.all = true}), ElementsAre(kSilent, 1));
  EXPECT_THAT(Followed({"en", "de"}, {"fr", "en"}, {.all = true}), ElementsAre(2, kSilent));
  EXPECT_THAT(Followed({"en", "de"}, {"en"}, {.first = 2}), ElementsAre(kSilent))
      << "who asked for German gets no English";
  EXPECT_THAT(Followed({"en"}, {}, {}), ElementsAre(kSilent));
}

TEST(FollowSource, TakesWhatThereIsForTheOneTrackThatNobodyChose) {
  EXPECT_THAT(Followed({"en", "de"}, {"fr"}, {}), ElementsAre(1));
  EXPECT_THAT(Followed({"en", "de"}, {"", ""}, {.all = true}), ElementsAre(1, 2));
}

TEST(FollowSource, LeavesOutTracksThatWereNotThereBefore) {
  EXPECT_THAT(Followed({"en"}, {"en", "de"}, {.all = true}), ElementsAre(1));
  EXPECT_THAT(Followed({}, {"en"}, {}), ElementsAre());
  const auto next = FollowSource(*Publisher({"de"}), Publisher({"en", "de"}), {});
  EXPECT_THAT(next.place, ElementsAre(std::nullopt, std::optional<std::size_t>(0)));
}

// Who began with times in other units gets all that comes in those.
TEST(FollowSource, KeepsTheTimeBases) {
  const auto with = [](Rational video, Rational audio) {
    auto info = std::make_shared<SourceInfo>(*Publisher({"en"}));
    info->video.time_base = video;
    info->audio->time_base = audio;
    return info;
  };
  const auto flv = with({1, 1000}, {1, 1000}), ts = with({1, 90'000}, {1, 90'000});
  const auto next = FollowSource(*flv, ts, {});
  EXPECT_EQ(next.info->video.time_base, (Rational{1, 1000}));
  EXPECT_EQ(next.info->audio->time_base, (Rational{1, 1000}));
  EXPECT_EQ(FollowSource(*ts, with({1, 90'000}, {1, 90'000}), {}).info->video.time_base,
            (Rational{1, 90'000}));
  EXPECT_EQ(FollowSource(*ts, ts, {}).info, ts) << "shared where nothing differs";
}

}  // namespace
}  // namespace gopmill
