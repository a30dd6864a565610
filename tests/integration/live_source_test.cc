// SPDX-License-Identifier: Apache-2.0
//
// What a live source's readers are told about their place on its clock, and what they get of sound
// whose times lie elsewhere than those of the pictures.
#include "server/live/live_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <thread>

#include "tests/integration/script_source.h"
#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

using testing::Eq;
using testing::Gt;
using testing::Lt;
using testing::Matcher;

constexpr const char* kMovie = "sync-720p.mp4";

void Publish(LiveSource& live) {
  auto movie = OpenMovie(kMovie)({});
  ASSERT_TRUE(movie.ok());
  const auto claim = live.Acquire(false);
  ASSERT_TRUE(claim.ok());
  EXPECT_TRUE(live.Run(*claim, **movie).ok());
  EXPECT_TRUE(live.Release(*claim).ok());
}

TEST(LiveSource, WhoWaitsForAnotherPublisherBeginsWhereItIsToldTo) {
  const auto live = std::make_shared<LiveSource>(std::chrono::minutes(1));
  Publish(*live);  // the source's clock goes on from its end
  Result<std::unique_ptr<PacketSource>> reader = Error{.code = Code::kInternal, .message = ""};
  std::thread subscriber(
      [&] { reader = live->Subscribe({}, {}, LiveSource::ReaderClock::kShared); });
  while (live->readers() == 0) std::this_thread::yield();
  Publish(*live);
  subscriber.join();
  ASSERT_TRUE(reader.ok()) << reader.error().ToString();

  const av::Packet packet = av::NewPacket();
  const auto state = (*reader)->Read(*packet);
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(*state, PacketSource::ReadState::kVideo);
  ASSERT_NE((*reader)->join(), nullptr);
  EXPECT_EQ(packet->dts, (*reader)->join()->begin);
  const Rational time_base = (*reader)->info()->video.time_base;
  EXPECT_THAT(static_cast<double>(packet->dts) * time_base.ToDouble(), Gt(1));
}

// As a camera that is asked again and again and refuses each time.
TEST(LiveSource, PublishersThatBringNothingDoNotLetReadersWaitOn) {
  const auto live = std::make_shared<LiveSource>(std::chrono::milliseconds(200));
  std::jthread publisher([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const auto claim = live->Acquire(false);
      ASSERT_TRUE(claim.ok() && live->Release(*claim).ok());
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
    }
  });
  const TimePoint begin = SteadyNow();
  std::stop_source stop;
  std::jthread timeout([&](const std::stop_token& over) {
    while (!over.stop_requested() && SteadyNow() - begin < std::chrono::seconds(5)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    stop.request_stop();
  });
  const auto reader = live->Subscribe(stop.get_token());
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.error().code, Code::kUnavailable) << reader.error().ToString();
}

TEST(LiveSource, APublisherThatBringsNothingAndStaysDoesNotLetReadersWaitOn) {
  const auto live = std::make_shared<LiveSource>(std::chrono::milliseconds(50));
  ASSERT_TRUE(live->Acquire(false).ok());
  std::stop_source stop;
  auto answer = std::async(std::launch::async, [&] { return live->Subscribe(stop.get_token()); });
  EXPECT_EQ(answer.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  stop.request_stop();
  const auto reader = answer.get();
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.error().code, Code::kUnavailable) << reader.error().ToString();
}

// A reader of all that these publishers send one after the other.
std::unique_ptr<PacketSource> ReaderOf(const std::shared_ptr<LiveSource>& live,
                                       const std::vector<Script*>& publishers,
                                       const std::vector<SubtitleTrack>& texts = {}) {
  Result<std::unique_ptr<PacketSource>> reader = Error{.code = Code::kInternal, .message = ""};
  std::thread subscriber(
      [&] { reader = live->Subscribe({}, {.all = true}, LiveSource::ReaderClock::kOwn, texts); });
  while (live->readers() == 0) std::this_thread::yield();
  for (Script* publisher : publishers) {
    const auto claim = live->Acquire(false);
    EXPECT_TRUE(claim.ok() && live->Run(*claim, *publisher).ok() && live->Release(*claim).ok());
  }
  subscriber.join();
  EXPECT_TRUE(reader.ok()) << reader.error().ToString();
  return reader.ok() ? *std::move(reader) : nullptr;
}

TEST(LiveSource, SoundFarAheadTakesNoPicturesAway) {
  std::vector<Step> steps;
  for (std::int64_t n = 0; n < 50; ++n) {
    steps.push_back({State::kVideo, 40 * n});
    steps.push_back({State::kAudio, 4000 + 40 * n});
  }
  Script script({"en"}, steps, {{0, 10}});
  const auto live = std::make_shared<LiveSource>(std::chrono::minutes(1));
  const auto reader = ReaderOf(live, {&script});
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(live->counts().dropped_packets, 0);
}

TEST(LiveSource, PicturesFarBehindTheirReaderGoAsEver) {
  std::vector<Step> steps;
  for (std::int64_t n = 0; n < 150; ++n) steps.push_back({State::kVideo, 40 * n});
  Script script({"en"}, steps);
  const auto live = std::make_shared<LiveSource>(std::chrono::minutes(1));
  const auto reader = ReaderOf(live, {&script});
  ASSERT_NE(reader, nullptr);
  EXPECT_THAT(live->counts().dropped_packets, Gt(50));
}

// Of 8K by intra pictures, or close to it.
TEST(LiveSource, APictureLargerThanAQueueIsRead) {
  constexpr int kLarge = 9 << 20;
  std::vector<Step> steps{{.milliseconds = 0}, {.milliseconds = 40, .delta = true}};
  steps.push_back({.milliseconds = 80, .bytes = kLarge});
  for (const int at : {120, 160, 200}) steps.push_back({.milliseconds = at, .delta = true});
  Script script({"en"}, steps);
  const auto live = std::make_shared<LiveSource>(std::chrono::seconds(1));
  const auto reader = ReaderOf(live, {&script});
  ASSERT_NE(reader, nullptr);
  std::vector<int> sizes;
  while (true) {
    const av::Packet packet = av::NewPacket();
    const auto state = reader->Read(*packet);
    ASSERT_TRUE(state.ok());
    if (*state == State::kEnd) break;
    sizes.push_back(packet->size);
  }
  ASSERT_THAT(sizes, testing::SizeIs(testing::Ge(4U)));
  EXPECT_THAT(std::vector<int>(sizes.end() - 4, sizes.end()),
              testing::ElementsAre(kLarge, 100, 100, 100));
}

TEST(LiveSource, LargePicturesGoWhenNewerOnesCome) {
  std::vector<Step> steps;
  for (std::int64_t n = 0; n < 10; ++n) steps.push_back({.milliseconds = 40 * n, .bytes = 9 << 20});
  Script script({"en"}, steps);
  const auto live = std::make_shared<LiveSource>(std::chrono::seconds(1));
  const auto reader = ReaderOf(live, {&script});
  ASSERT_NE(reader, nullptr);
  // The newest waits; the reader has one, and has asked for none since.
  EXPECT_THAT(live->counts().dropped_gops, testing::AnyOf(8, 9));
  const av::Packet packet = av::NewPacket();
  const auto state = reader->Read(*packet);
  EXPECT_TRUE(state.ok() && *state == State::kVideo);
}

// What a reader hears that comes while a publisher sends this, with 50 ms of patience.
Result<std::unique_ptr<PacketSource>> ReaderBeside(const std::vector<Step>& steps,
                                                   std::int64_t comes_behind) {
  const auto live = std::make_shared<LiveSource>(std::chrono::milliseconds(50));
  const auto claim = live->Acquire(false);
  EXPECT_TRUE(claim.ok());
  Script script({"en"}, steps, {{0, 10}});
  std::jthread publisher([&] { static_cast<void>(live->Run(*claim, script)); });
  while (live->counts().packets < comes_behind) std::this_thread::yield();
  auto reader = live->Subscribe({});
  EXPECT_TRUE(live->Acquire(true).ok());  // ends that one
  return reader;
}

// Sound, or pictures that need others, for ten seconds.
TEST(LiveSource, APublisherWithoutKeyPicturesDoesNotLetReadersWaitOn) {
  for (const bool pictures : {false, true}) {
    std::vector<Step> steps;
    for (std::int64_t n = 0; n < 2000; ++n) {
      steps.push_back({.state = pictures ? State::kVideo : State::kAudio,
                       .milliseconds = 20 * n,
                       .late = true,
                       .delta = true});
    }
    for (const bool key_before : {false, true}) {
      if (key_before) steps.front() = {};
      const TimePoint begin = SteadyNow();
      const auto reader = ReaderBeside(steps, 1);
      ASSERT_FALSE(reader.ok());
      EXPECT_EQ(reader.error().code, Code::kUnavailable);
      EXPECT_THAT(reader.error().message, testing::HasSubstr("no key picture"));
      EXPECT_THAT(SteadyNow() - begin, Lt(std::chrono::seconds(8)));
    }
  }
}

TEST(LiveSource, KeyPicturesMayBeFartherApartThanReadersHavePatience) {
  std::vector<Step> steps;
  for (const int sounds : {200, 40, 0}) {  // a second, and a fifth of one
    steps.push_back({.milliseconds = std::ssize(steps)});
    for (int n = 0; n < sounds; ++n) {
      steps.push_back({.state = State::kAudio, .milliseconds = std::ssize(steps), .late = true});
    }
  }
  const auto reader = ReaderBeside(steps, 203);
  EXPECT_TRUE(reader.ok()) << reader.error().ToString();
}

// Of the one before, key pictures came two seconds apart. A reader of the next one would wait as
// long, and get its key picture, which comes a second and a half behind its first packet.
TEST(LiveSource, HowFarApartKeyPicturesWereIsForgottenWithTheirPublisher) {
  const auto live = std::make_shared<LiveSource>(std::chrono::milliseconds(50));
  const auto sounds_and_key = [](int sounds, std::vector<Step> steps) {
    for (int n = 0; n < sounds; ++n) {  // 5 ms each
      steps.push_back({.state = State::kAudio, .milliseconds = std::ssize(steps), .late = true});
    }
    steps.push_back({.milliseconds = std::ssize(steps)});
    return steps;
  };
  Script sparse({"en"}, sounds_and_key(400, {{.milliseconds = 0}}), {{0, 10}});
  Script next({"en"}, sounds_and_key(300, {}), {{0, 10}});
  const auto before = live->Acquire(false);
  ASSERT_TRUE(before.ok() && live->Run(*before, sparse).ok());
  const auto claim = live->Acquire(true);
  ASSERT_TRUE(claim.ok());
  std::jthread publisher([&] { static_cast<void>(live->Run(*claim, next)); });
  const auto reader = live->Subscribe({});
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.error().code, Code::kUnavailable) << reader.error().ToString();
}

// The second one's clock begins anew.
TEST(LiveSource, PicturesOfTheNextPublisherCountFromThoseOfTheOneBefore) {
  const auto live = std::make_shared<LiveSource>(std::chrono::minutes(1));
  std::vector<Step> steps;
  for (std::int64_t i = 0; i < 60; ++i) steps.push_back({.milliseconds = 100'000 + 40 * i});
  Script before({"eng"}, steps);
  for (Step& step : steps) step.milliseconds -= 100'000;
  Script after({"eng"}, steps);
  const auto reader = ReaderOf(live, {&before, &after});
  ASSERT_NE(reader, nullptr);
  // Three seconds and one picture are kept; the reader takes one, sooner or later.
  constexpr std::int64_t kDropped = 2 * 60 - (75 + 1);
  EXPECT_THAT(live->counts().dropped_gops, testing::AnyOf(kDropped - 1, kDropped));
}

TEST(LiveSource, WhatCameBeforeAnErrorIsHandedOut) {
  const auto live = std::make_shared<LiveSource>(std::chrono::minutes(1));
  Script broken({"eng"}, {{.milliseconds = 0}, {.milliseconds = 40}, {.milliseconds = 80}});
  broken.Break();
  const auto claim = live->Acquire(false);
  ASSERT_TRUE(claim.ok());
  EXPECT_EQ(live->Run(*claim, broken).error().message, "It broke.");
  EXPECT_EQ(live->counts().packets, 3);
}

// What a publisher of one picture a second sends first comes at once.
TEST(LiveSource, SlowPicturesAreNotFarBehind) {
  for (const bool many : {false, true}) {
    std::vector<Step> steps;
    for (std::int64_t n = 0; n < (many ? 60 : 12); ++n) steps.push_back({State::kVideo, 1000 * n});
    Script script({"en"}, steps);
    const auto live = std::make_shared<LiveSource>(std::chrono::minutes(1));
    const auto reader = ReaderOf(live, {&script});
    ASSERT_NE(reader, nullptr);
    // The reader may have taken some of them by then.
    EXPECT_THAT(live->counts().dropped_packets, many ? Matcher<std::int64_t>(Gt(40)) : Eq(0));
  }
}

// Packets without a byte take memory too.
TEST(LiveSource, SoundWithoutPicturesIsBounded) {
  std::vector<Step> steps{{State::kVideo, 0}};
  for (std::int64_t n = 0; n < 100'000; ++n) steps.push_back({State::kAudio, n});
  Script script({"en"}, steps, {{0, 0}});
  const auto live = std::make_shared<LiveSource>(std::chrono::minutes(1));
  const auto reader = ReaderOf(live, {&script});
  ASSERT_NE(reader, nullptr);
  EXPECT_THAT(live->counts().dropped_packets, Gt(10'000));
}

// In a burst and after it: whether sound 40 s ahead comes first or last, pictures come now.
TEST(LiveSource, SoundFarAheadDatesNoPictures) {
  for (const bool late : {false, true}) {
    Script script({"en"},
                  {{.state = State::kAudio, .milliseconds = 40'000, .late = late},
                   {.milliseconds = 0},
                   {.milliseconds = 40},
                   {.state = State::kAudio, .milliseconds = 40'020, .late = late},
                   {.milliseconds = 80}},
                  {{0, 10}});
    const auto began = std::chrono::system_clock::now();
    const auto live = std::make_shared<LiveSource>(std::chrono::minutes(1));
    const auto reader = ReaderOf(live, {&script});
    ASSERT_NE(reader, nullptr);
    for (int pictures = 0; pictures < 3;) {
      const av::Packet packet = av::NewPacket();
      const auto state = reader->Read(*packet);
      ASSERT_TRUE(state.ok());
      if (*state != State::kVideo) continue;
      ++pictures;
      EXPECT_THAT(began - reader->arrival()->wall, Lt(std::chrono::seconds(10))) << late;
    }
  }
}

// Text is on the clock of the pictures, whatever that does, and for who asked for that language.
TEST(LiveSource, TextGoesWithThePictures) {
  std::vector<Step> steps{{.milliseconds = 0},
                          {.state = State::kText, .milliseconds = 20, .sound = 1},
                          {.state = State::kText, .milliseconds = 30, .sound = 0},
                          {.milliseconds = 40},
                          {.milliseconds = 100'000},  // a jump, of which text knows nothing
                          {.state = State::kText, .milliseconds = 100'010, .sound = 1},
                          {.state = State::kText, .milliseconds = 500'000, .sound = 1},
                          {.milliseconds = 100'040}};
  Script first({"en"}, steps), second({"en"}, steps), other({"en", "de"}, steps);
  const auto live = std::make_shared<LiveSource>(std::chrono::minutes(1));
  SubtitleTrack german;
  german.language = "ger";
  const auto reader = ReaderOf(live, {&first, &second, &other}, {german});
  ASSERT_NE(reader, nullptr);
  std::int64_t picture = 0;
  std::vector<std::int64_t> behind;
  // Of each publisher four pictures and two texts, and no wait for another one.
  for (int packets = 0; packets < 18; ++packets) {
    const av::Packet packet = av::NewPacket();
    const auto state = reader->Read(*packet);
    ASSERT_TRUE(state.ok());
    if (*state == State::kVideo) picture = packet->pts;
    if (*state != State::kText) continue;
    EXPECT_EQ(packet->stream_index, 0) << "the first of those that were asked for";
    behind.push_back(ReadCuePacket(*packet).start_us / 1000 - picture);
  }
  EXPECT_EQ(behind, (std::vector<std::int64_t>{20, 10, 20, 10, 20, 10}));
}

// A player that chose English goes on with English.
TEST(LiveSource, TracksKeepTheirLanguageWhenAPublisherListsThemAnew) {
  const std::vector<Step> steps{{.milliseconds = 0},
                                {.state = State::kAudio, .milliseconds = 0, .sound = 0},
                                {.state = State::kAudio, .milliseconds = 0, .sound = 1},
                                {.milliseconds = 40}};
  Script first({"en", "de"}, steps, {{0, 11}, {1, 22}}),
      second({"de", "en"}, steps, {{0, 22}, {1, 11}}),
      third({"en", "fr"}, steps, {{0, 11}, {1, 33}});
  const auto live = std::make_shared<LiveSource>(std::chrono::minutes(1));
  const auto reader = ReaderOf(live, {&first, &second, &third});
  ASSERT_NE(reader, nullptr);
  std::map<int, std::vector<int>> sizes;
  for (int packets = 0; packets < 11; ++packets) {  // all but the French
    const av::Packet packet = av::NewPacket();
    const auto state = reader->Read(*packet);
    ASSERT_TRUE(state.ok());
    if (*state == State::kAudio) sizes[packet->stream_index].push_back(packet->size);
  }
  EXPECT_EQ(sizes[0], (std::vector{11, 11, 11}));
  EXPECT_EQ(sizes[1], (std::vector{22, 22})) << "and French is no German";
}

// What a reader gets of publishers that send one thing after the other.
TEST(LiveSource, ReadersHearOfEachCodingWithItsFirstPacket) {
  const std::vector<Step> steps{{.milliseconds = 0},
                                {.state = State::kAudio, .milliseconds = 0, .sound = 0},
                                {.milliseconds = 40}};
  Script first({"en"}, steps, {{0, 10}}), second({"en"}, steps, {{0, 10}}, "hevc"),
      third({"en"}, {{.milliseconds = 0}, {.milliseconds = 40}}, {}, "hevc");
  third.RemoveSound();
  const auto live = std::make_shared<LiveSource>(std::chrono::minutes(1));
  const auto reader = ReaderOf(live, {&first, &second, &third});
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(reader->coded(), reader->info());
  std::vector<std::string> codecs;
  std::int64_t last = -1;
  for (int packets = 0; packets < 8; ++packets) {
    const av::Packet packet = av::NewPacket();
    const auto state = reader->Read(*packet);
    ASSERT_TRUE(state.ok());
    const SourceInfo& coded = *reader->coded();
    EXPECT_EQ(coded.sounds(), 1U) << "as many as it began with";
    codecs.push_back(coded.video.codec + (coded.audio->silent ? " silent" : ""));
    if (*state != State::kVideo) continue;
    EXPECT_GT(packet->dts, last) << "one clock";
    last = packet->dts;
  }
  EXPECT_THAT(codecs, testing::ElementsAre("h264", "h264", "h264", "hevc", "hevc", "hevc",
                                           "hevc silent", "hevc silent"));
  EXPECT_EQ(reader->info()->video.codec, "h264") << "what it began with";
  EXPECT_EQ(live->counts().format_changes, 2);
}

// As FLV tells of other parameter sets.
TEST(LiveSource, ANewHeaderInMidStreamIsAnotherCoding) {
  const std::vector<Step> steps{{.milliseconds = 0, .header = 1},
                                {.milliseconds = 40},
                                {.milliseconds = 80, .header = 2},
                                {.milliseconds = 120, .header = 2},
                                {.milliseconds = 160}};
  Script script({"en"}, steps);
  const auto live = std::make_shared<LiveSource>(std::chrono::minutes(1));
  const auto reader = ReaderOf(live, {&script});
  ASSERT_NE(reader, nullptr);
  std::vector<int> headers;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const av::Packet packet = av::NewPacket();
    ASSERT_TRUE(reader->Read(*packet).ok());
    const AVCodecParameters& parameters = *reader->coded()->video.parameters;
    headers.push_back(parameters.extradata_size == 1 ? parameters.extradata[0] : 0);
  }
  EXPECT_EQ(headers, (std::vector{1, 1, 2, 2, 2}));
  EXPECT_EQ(live->counts().format_changes, 2) << "the same one again is none";
}

}  // namespace
}  // namespace gopmill::test
