// SPDX-License-Identifier: Apache-2.0
//
// What a live source's readers are told about their place on its clock, and what they get of sound
// whose times lie elsewhere than those of the pictures.
#include "server/live/live_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "media/cue_packet.h"
#include "server/live/live_hub.h"
#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

using testing::Eq;
using testing::Gt;
using testing::Lt;
using testing::Matcher;
using State = PacketSource::ReadState;

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

TEST(LiveHub, TellsHowItStandsWithWhatIsFetched) {
  LiveHub hub;
  hub.Configure({.patience = std::chrono::milliseconds(50)});
  hub.SetPull("cam", {.phase = PullPhase::kWaiting,
                      .since = std::chrono::system_clock::from_time_t(0),
                      .attempts = 3,
                      .failures = 2,
                      .last_error = "it is off"});
  const auto json = nlohmann::json::parse(hub.Json())["live"];
  ASSERT_EQ(json.size(), 1U);
  EXPECT_EQ(json[0]["name"], "cam");
  EXPECT_EQ(json[0]["publishing"], false);
  EXPECT_EQ(json[0]["pull"], "waiting");
  EXPECT_EQ(json[0]["since"], "1970-01-01T00:00:00Z");
  EXPECT_EQ(json[0]["attempts"], 3);
  EXPECT_EQ(json[0]["failures"], 2);
  EXPECT_EQ(json[0]["last_error"], "it is off");
  EXPECT_EQ(hub.Totals().pull_failures, (std::map<std::string, std::int64_t>{{"cam", 2}}));
  const auto source = hub.Find("cam");
  ASSERT_TRUE(source.ok());
  EXPECT_THAT((*source)->Subscribe({}).error().message, testing::HasSubstr("it is off"));
}

constexpr Rational kMillis{1, 1000};

struct Step {
  State state = State::kVideo;
  std::int64_t milliseconds = 0;
  int sound = 0;       // or text: which one, from 0
  bool late = false;   // it had to be waited for
  int header = 0;      // that comes with it: one byte
  bool delta = false;  // a picture that needs others
  int bytes = 100;     // of a picture
};

// A publisher that sends what it is told to. `sizes`: bytes of the packets of each track of sound.
class Script final : public PacketSource {
 public:
  Script(const std::vector<std::string>& languages, std::vector<Step> steps,
         std::map<int, int> sizes = {}, const std::string& codec = "h264")
      : steps_(std::move(steps)), sizes_(std::move(sizes)) {
    auto info = std::make_shared<SourceInfo>();
    info->video.codec = codec;
    info->video.time_base = kMillis;
    info->video.fps = {25, 1};
    info->video.parameters = std::shared_ptr<AVCodecParameters>(
        avcodec_parameters_alloc(), [](AVCodecParameters* p) { avcodec_parameters_free(&p); });
    for (const std::string& language : languages) {
      AudioInfo& track = info->audio_tracks.emplace_back();
      track.stream_index = static_cast<int>(info->audio_tracks.size());
      track.codec = "aac";
      track.language = language;
      track.time_base = kMillis;
    }
    for (const char* const language : {"eng", "ger"}) {
      SubtitleTrack& track = info->subtitles.emplace_back();
      track.language = language;
    }
    info->audio = info->audio_tracks.front();
    info->more_audio.assign(info->audio_tracks.begin() + 1, info->audio_tracks.end());
    info_ = std::move(info);
  }
  void RemoveSound() {
    auto info = std::make_shared<SourceInfo>(*info_);
    info->audio.reset();
    info_ = std::move(info);
  }
  // It ends with an error.
  void Break() { broken_ = true; }
  // Its end is not that of what it reads.
  void Truncate() { truncated_ = true; }
  void GoOnWith(std::unique_ptr<PacketSource> next) { successor_ = std::move(next); }
  Result<std::unique_ptr<PacketSource>> Successor() override { return std::move(successor_); }
  const std::shared_ptr<const SourceInfo>& info() const override { return info_; }
  bool counted_pts() const override { return false; }
  std::int64_t start_us() const override { return 0; }
  Status SeekBefore(Rational /*seconds*/) override { return OkStatus(); }
  bool truncated() const override { return truncated_; }
  Result<ReadState> Read(AVPacket& packet) override {
    if (next_ == steps_.size()) {
      if (broken_) return Error{.code = Code::kIo, .message = "It broke."};
      return ReadState::kEnd;
    }
    const Step& step = steps_[next_++];
    // More than the time within which a packet counts as one that was there already.
    if (step.late) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (step.state == State::kText) {
      const SubtitleCue cue{.start_us = 1000 * step.milliseconds, .end_us = kNoEnd, .text = "said"};
      av_packet_move_ref(&packet, MakeCuePacket(cue, step.sound).get());
      return step.state;
    }
    const int size = step.state == State::kVideo ? step.bytes : sizes_[step.sound];
    EXPECT_EQ(av_new_packet(&packet, size), 0);
    packet.pts = packet.dts = step.milliseconds;
    packet.duration = step.state == State::kVideo ? 40 : 20;
    packet.stream_index = step.sound;
    packet.flags = step.delta ? 0 : AV_PKT_FLAG_KEY;
    if (step.header != 0) {
      *av_packet_new_side_data(&packet, AV_PKT_DATA_NEW_EXTRADATA, 1) =
          static_cast<std::uint8_t>(step.header);
    }
    return step.state;
  }

 private:
  std::shared_ptr<const SourceInfo> info_;
  std::vector<Step> steps_;
  std::map<int, int> sizes_;
  std::size_t next_ = 0;
  bool broken_ = false, truncated_ = false;
  std::unique_ptr<PacketSource> successor_;
};

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

// What a publisher hears that sends these, one after the other.
Result<std::string> AnswerTo(std::vector<std::vector<Step>> parts, LiveHub& hub,
                             bool truncated = false) {
  std::unique_ptr<Script> script;
  while (!parts.empty()) {
    auto before = std::exchange(
        script, std::make_unique<Script>(std::vector<std::string>{"en"}, parts.back()));
    parts.pop_back();
    if (truncated) script->Truncate();
    script->GoOnWith(std::move(before));
  }
  const auto source = std::make_shared<std::unique_ptr<PacketSource>>(std::move(script));
  const auto answer = std::make_shared<std::promise<Result<std::string>>>();
  const Status status = hub.Publish(
      "cam", "test",
      [source](const auto&) { return Result<std::unique_ptr<PacketSource>>(std::move(*source)); },
      [answer](auto result) { answer->set_value(std::move(result)); });
  EXPECT_TRUE(status.ok());
  return answer->get_future().get();
}
Result<std::string> AnswerTo(std::vector<std::vector<Step>> parts) {
  LiveHub hub;
  return AnswerTo(std::move(parts), hub);
}

TEST(LiveHub, APublisherWithoutAPictureHearsOfIt) {
  const std::vector<Step> sound{{.state = State::kAudio}}, picture{{.state = State::kVideo}};
  const auto without = AnswerTo({sound, sound});
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.error().code, Code::kCorrupt);
  EXPECT_TRUE(AnswerTo({picture, sound}).ok()) << "one of its parts had some";
}

TEST(LiveHub, APublisherThatCannotBeReadOnHearsWhere) {
  const std::vector<Step> pictures{{.milliseconds = 0}, {.milliseconds = 40}};
  LiveHub hub;
  const auto answer = AnswerTo({pictures}, hub, /*truncated=*/true);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, Code::kCorrupt);
  EXPECT_THAT(answer.error().message, testing::HasSubstr("behind its first 2 packets"));
}

TEST(LiveHub, APublisherHearsOfWhatItBroughtItself) {
  const std::vector<Step> pictures{{.milliseconds = 0}, {.milliseconds = 40}};
  LiveHub hub;
  ASSERT_TRUE(AnswerTo({pictures, pictures}, hub).ok());
  const auto answer = AnswerTo({pictures}, hub);
  ASSERT_TRUE(answer.ok());
  const auto counts = nlohmann::json::parse(*answer)["counts"];
  EXPECT_EQ(counts["publishers"], 1);
  EXPECT_EQ(counts["packets"], 2);
  EXPECT_EQ(counts["bytes"], 200);
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
