// SPDX-License-Identifier: Apache-2.0
#include "server/live/live_texts.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "media/segment_muxer.h"

namespace gopmill {
namespace {

using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::int64_t kSecond = 1'000'000;
constexpr const char* kHead = "WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:0,LOCAL:00:00:00.000\n";

LiveCue Cue(double begin, double end, std::string text, std::int64_t publisher = 0) {
  return {.cue = {.start_us = static_cast<std::int64_t>(begin * kSecond),
                  .end_us = static_cast<std::int64_t>(end * kSecond),
                  .text = std::move(text)},
          .publisher = publisher};
}

// Its end is not known yet.
LiveCue Open(std::int64_t seconds, std::string text) {
  return {.cue = {.start_us = seconds * kSecond, .end_us = kNoEnd, .text = std::move(text)}};
}

// Segments of two seconds of a presentation that began five seconds behind its source.
LiveTextCut Segment(int number, std::int64_t publisher = 0) {
  return {.begin_us = number * 2 * kSecond,
          .end_us = (number + 1) * 2 * kSecond,
          .zero_us = 5 * kSecond,
          .publisher = publisher};
}

TEST(LiveTexts, ACueIsInEachSegmentThatItIsSeenInAndNoOther) {
  LiveTexts texts(2);
  texts.Add(1, Cue(6.5, 9.5, "long"));
  texts.Add(1, Cue(9, 10, "second"));
  texts.Add(1, Cue(7.5, 9, "between"));
  auto segments = texts.Cut(Segment(0));
  ASSERT_EQ(segments.size(), 2U);
  EXPECT_EQ(*segments[0].vtt, kHead) << "nothing was said in this track";
  EXPECT_EQ(*segments[1].vtt, std::string(kHead) + "\n00:00:01.500 --> 00:00:04.500\nlong\n");
  segments = texts.Cut(Segment(1));
  EXPECT_EQ(*segments[1].vtt, std::string(kHead) +
                                  "\n00:00:01.500 --> 00:00:04.500\nlong\n"
                                  "\n00:00:02.500 --> 00:00:04.000\nbetween\n");
  segments = texts.Cut(Segment(2));
  EXPECT_THAT(*segments[1].vtt, HasSubstr("long"));
  EXPECT_THAT(*segments[1].vtt, HasSubstr("00:00:04.000 --> 00:00:05.000\nsecond"));
  EXPECT_THAT(*segments[1].vtt, Not(HasSubstr("between")));
  EXPECT_EQ(*texts.Cut(Segment(3))[1].vtt, kHead);
  EXPECT_EQ(texts.bytes(), 0U) << "what is over is forgotten";
}

TEST(LiveTexts, TransportStreamsBeginLaterThanTheirText) {
  LiveTexts texts(1, Container::kTs);
  texts.Add(0, Cue(6.5, 7, "said"));
  EXPECT_EQ(*texts.Cut(Segment(0))[0].vtt,
            "WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:" + std::to_string(kTsDelayTicks) +
                ",LOCAL:00:00:00.000\n\n00:00:01.500 --> 00:00:02.000\nsaid\n");
}

TEST(LiveTexts, WhatComesLateIsInTheSegmentsToCome) {
  LiveTexts texts(1);
  texts.Cut(Segment(0));
  texts.Add(0, Cue(6, 8, "late"));
  texts.Add(0, Cue(5.5, 6.5, "too late"));
  const std::string segment = *texts.Cut(Segment(1))[0].vtt;
  EXPECT_THAT(segment, HasSubstr("00:00:01.000 --> 00:00:03.000\nlate"));
  EXPECT_THAT(segment, Not(HasSubstr("too late")));
}

TEST(LiveTexts, WithoutAnEndACueIsShownForAWhileOrUntilTheNext) {
  LiveTexts texts(1);
  texts.Add(0, Open(5, "first"));
  EXPECT_THAT(*texts.Cut(Segment(0))[0].vtt, HasSubstr("00:00:00.000 --> 00:00:02.000\nfirst"));
  texts.Add(0, Open(8, "next"));
  const std::string segment = *texts.Cut(Segment(1))[0].vtt;
  EXPECT_THAT(segment, HasSubstr("00:00:02.000 --> 00:00:03.000\nfirst"));
  EXPECT_THAT(segment, HasSubstr("00:00:03.000 --> 00:00:04.000\nnext"));
  EXPECT_THAT(*texts.Cut(Segment(2))[0].vtt, HasSubstr("00:00:04.000 --> 00:00:06.000\nnext"));
  EXPECT_THAT(*texts.Cut(Segment(3))[0].vtt, HasSubstr("00:00:06.000 --> 00:00:08.000\nnext"));
  EXPECT_EQ(texts.bytes(), 0U);
}

TEST(LiveTexts, WhatAPublisherSaidIsOverWhenAnotherComes) {
  LiveTexts texts(1);
  texts.Add(0, Cue(6, 1000, "forever"));
  texts.Add(0, Cue(8, 9, "said ahead"));
  texts.Add(0, Cue(6.9, 8, "of who comes next", 1));
  std::string segment = *texts.Cut(Segment(0))[0].vtt;
  EXPECT_THAT(segment, HasSubstr("forever"));
  EXPECT_THAT(segment, Not(HasSubstr("of who comes next"))) << "not of this segment's source";
  segment = *texts.Cut(Segment(1, 1))[0].vtt;
  EXPECT_THAT(segment, Not(HasSubstr("forever")));
  EXPECT_THAT(segment, Not(HasSubstr("said ahead")));
  EXPECT_THAT(segment, HasSubstr("of who comes next"))
      << "though it begins before the segment, which frames round";
}

TEST(LiveTexts, StaysWithinItsLimits) {
  LiveTexts many(1);
  int kept = 0;
  for (int i = 0; i < 5000; ++i) kept += many.Add(0, Cue(5, 1e6, "x")) ? 1 : 0;
  EXPECT_EQ(kept, static_cast<int>(kMaxLiveCues)) << "and the others are told of";
  const std::string segment = *many.Cut(Segment(0))[0].vtt;
  EXPECT_EQ(std::ranges::count(segment, 'x'), static_cast<std::ptrdiff_t>(kMaxLiveCues));
  LiveTexts large(2);
  for (std::size_t i = 0; i < 200; ++i) large.Add(i % 2, Cue(5, 1e6, std::string(10'000, 'x')));
  EXPECT_THAT(large.bytes(), Le(kMaxLiveCueBytes));
  std::size_t written = 0;
  for (const auto& text : large.Cut(Segment(0))) written += text.vtt->size();
  EXPECT_THAT(written, Le(kMaxLiveCueBytes + 4096));
  EXPECT_THAT(written, testing::Gt(kMaxLiveCueBytes / 2));
}

TEST(LiveTexts, TimedTextHasThePartOfACueThatIsSeenThen) {
  LiveTexts texts(1);
  texts.Add(0, Cue(6.5, 9.5, "long"));
  texts.Add(0, Open(8, "open"));
  EXPECT_THAT(*texts.Cut(Segment(0))[0].ttml,
              HasSubstr("begin=\"00:00:01.500\" end=\"00:00:02.000\""));
  const std::string segment = *texts.Cut(Segment(1))[0].ttml;
  EXPECT_THAT(segment, HasSubstr("begin=\"00:00:02.000\" end=\"00:00:04.000\""));
  EXPECT_THAT(segment, HasSubstr("begin=\"00:00:03.000\" end=\"00:00:04.000\""));
  EXPECT_THAT(*texts.Cut(Segment(2))[0].ttml,
              HasSubstr("begin=\"00:00:04.000\" end=\"00:00:04.500\""));
}

// Times that no clock shows, ends before their begin: nothing of it may be seen or kept for ever.
TEST(LiveTexts, SenselessTimesAreHarmless) {
  constexpr std::int64_t kFar = std::int64_t{1} << 50U;
  LiveTexts texts(1);
  texts.Add(0, {.cue = {.start_us = -kFar, .end_us = kFar, .text = "always"}});
  texts.Add(0, {.cue = {.start_us = -kFar, .end_us = -kFar + 1, .text = "never"}});
  texts.Add(0, {.cue = {.start_us = 6 * kSecond, .end_us = 6 * kSecond - 2, .text = "backwards"}});
  texts.Add(0, {.cue = {.start_us = kFar, .end_us = kFar + kSecond, .text = "far"}});
  const std::string segment = *texts.Cut(Segment(0))[0].vtt;
  EXPECT_THAT(segment, StartsWith(kHead));
  EXPECT_THAT(segment, HasSubstr("00:00:00.000 --> "));
  for (const char* const word : {"never", "backwards", "far"}) {
    EXPECT_THAT(segment, Not(HasSubstr(word)));
  }
}

}  // namespace
}  // namespace gopmill
