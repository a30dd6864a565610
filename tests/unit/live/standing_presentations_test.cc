// SPDX-License-Identifier: Apache-2.0
#include "server/live/standing_presentations.h"

#include <gmock/gmock.h>

namespace gopmill {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Result<std::vector<LiveRequest>> Standing(std::string_view text) {
  return ParseStandingPresentations(text, {.segment_seconds = 2, .ladder = {{640, 360, 700'000}}});
}

TEST(StandingPresentations, AreWhatViewersAskFor) {
  const auto both = Standing("  cam\tgate?width=160&bitrate=80k&segment=1\n");
  ASSERT_TRUE(both.ok()) << both.error().ToString();
  ASSERT_THAT(*both, SizeIs(2));
  const auto asked =
      ParseLiveRequest({.path = "live/gate",
                        .name = "v0.m3u8",
                        .params = {{"segment", "1"}, {"bitrate", "80k"}, {"width", "160"}},
                        .if_none_match = {}},
                       {});
  EXPECT_EQ((*both)[1].key, asked->key);
  EXPECT_EQ((*both)[1].ask.name.kind, PartKind::kMaster);
  EXPECT_EQ((*both)[1].segments.segment_seconds, 1);
  EXPECT_THAT((*both)[0].segments.rungs, SizeIs(1)) << "the server's ladder";
  EXPECT_EQ(TextOfStanding((*both)[0]), "cam");
  EXPECT_EQ(TextOfStanding((*both)[1]), "gate?bitrate=80k&segment=1&width=160");
  EXPECT_THAT(*Standing(" "), IsEmpty());
}

std::string Message(std::string_view text) {
  const auto refused = Standing(text);
  if (refused.ok()) return "taken";
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_EQ(refused.error().parameter, "live.presentations");
  return refused.error().ToString();
}

TEST(StandingPresentations, WrongOnesAreRefusedByNumber) {
  EXPECT_THAT(Message("cam live/gate"), HasSubstr("Presentation 2, name: "));
  EXPECT_THAT(Message("?width=160"), HasSubstr("Presentation 1, name: "));
  EXPECT_THAT(Message("cam?widht=160"), HasSubstr("Presentation 1, widht: "));
  EXPECT_THAT(Message("cam?width=160&width=160"), HasSubstr("given twice"));
  EXPECT_THAT(Message("cam?width=%1"), HasSubstr("percent escape"));
  EXPECT_THAT(Message("cam?start=3"), HasSubstr("Presentation 1, start: "));
  EXPECT_THAT(Message("cam?version=7"), HasSubstr("Presentation 1, version: "));
  EXPECT_THAT(Message("cam?_HLS_msn=7"), HasSubstr("Presentation 1, _HLS_msn: "));
}

TEST(StandingPresentations, EachIsThereOnceAndNotTooMany) {
  EXPECT_THAT(Message("cam?width=160&bitrate=80k cam?bitrate=80k&width=160"),
              HasSubstr("Presentation 2 is there twice: cam?bitrate=80k&width=160."));
  std::string many;
  for (std::size_t i = 0; i < kMaxStandingPresentations; ++i) many += " cam" + std::to_string(i);
  EXPECT_THAT(*Standing(many), SizeIs(kMaxStandingPresentations));
  EXPECT_THAT(Message(many + " gate"), HasSubstr("17 presentations"));
}

TEST(StandingPace, TriesAgainBehindAPause) {
  StandingPace pace;
  const TimePoint now = SteadyNow();
  EXPECT_TRUE(pace.MayBegin(now));
  pace.OnAttempt(now);
  EXPECT_FALSE(pace.MayBegin(now + StandingPace::kPause - Duration(1)));
  EXPECT_TRUE(pace.MayBegin(now + StandingPace::kPause));
}

TEST(StandingPace, TellsAReasonOnceUntilItWorks) {
  StandingPace pace;
  EXPECT_FALSE(pace.OnMade()) << "at first it is none of the log's business";
  EXPECT_TRUE(pace.OnFailure({.code = Code::kUnavailable, .message = "1.2 cores"}));
  EXPECT_FALSE(pace.OnFailure({.code = Code::kUnavailable, .message = "1.3 cores"}));
  EXPECT_TRUE(pace.OnFailure({.code = Code::kUnsupported, .message = "no such codec"}));
  EXPECT_TRUE(pace.OnMade());
  EXPECT_FALSE(pace.OnMade());
  EXPECT_TRUE(pace.OnFailure({.code = Code::kUnsupported, .message = "no such codec"}));
}

}  // namespace
}  // namespace gopmill
