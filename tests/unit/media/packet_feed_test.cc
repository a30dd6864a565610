// SPDX-License-Identifier: Apache-2.0
#include "media/packet_feed.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "media/subtitle_track.h"
#include "tests/stays_false.h"

namespace gopmill {
namespace {

using std::chrono::milliseconds;
using ReadState = PacketSource::ReadState;

constexpr std::int64_t kFrame = 40'000'000;

// One grey picture. Every picture of Motion JPEG is a key frame and needs no other.
std::vector<std::uint8_t> Jpeg() {
  const AVCodec* codec = avcodec_find_encoder(AV_CODEC_ID_MJPEG);
  const av::CodecContext encoder(avcodec_alloc_context3(codec));
  encoder->width = encoder->height = 32;
  encoder->pix_fmt = AV_PIX_FMT_YUVJ420P;
  encoder->time_base = {1, 25};
  EXPECT_GE(avcodec_open2(encoder.get(), codec, nullptr), 0);
  const av::Frame frame = av::NewFrame();
  frame->width = frame->height = 32;
  frame->format = AV_PIX_FMT_YUVJ420P;
  frame->pts = 0;
  EXPECT_GE(av_frame_get_buffer(frame.get(), 0), 0);
  EXPECT_GE(av_frame_make_writable(frame.get()), 0);
  for (int plane = 0; plane < 3; ++plane) {
    for (int i = 0; i < frame->linesize[plane] * (plane == 0 ? 32 : 16); ++i) {
      frame->data[plane][i] = 128;
    }
  }
  EXPECT_GE(avcodec_send_frame(encoder.get(), frame.get()), 0);
  const av::Packet packet = av::NewPacket();
  EXPECT_GE(avcodec_receive_packet(encoder.get(), packet.get()), 0);
  return {packet->data, packet->data + packet->size};
}

class PacketFeedTest : public testing::Test {
 protected:
  void MakeFeed(std::vector<FeedTrack> sounds, CodedTrack video,
                milliseconds silence = milliseconds(300)) {
    sounds.insert(sounds.begin(), FeedTrack{.kind = TrackKind::kVideo});
    feed = std::make_shared<PacketFeed>(std::move(sounds), silence);
    feed->SetTrack(0, std::move(video));
  }
  void SetSound(std::size_t track, int sample_rate) {
    feed->SetTrack(track, {.kind = TrackKind::kAudio,
                           .codec = "pcm_mulaw",
                           .sample_rate = sample_rate,
                           .channels = 1});
  }
  void Announce(std::vector<FeedTrack> sounds) {
    MakeFeed(std::move(sounds), {.codec = "mjpeg", .frame_rate = {25, 1}});
  }
  void Announce(bool sound) {
    Announce(sound ? std::vector{FeedTrack{.kind = TrackKind::kAudio}} : std::vector<FeedTrack>());
    if (sound) SetSound(1, 8000);
  }
  Status Video(std::int64_t pts, bool key = true) {
    return feed->Push({.bytes = jpeg, .pts_ns = pts, .key = key});
  }
  Status Sound(std::int64_t pts, std::size_t track = 1) {
    return feed->Push({.track = track, .bytes = samples, .pts_ns = pts, .key = true});
  }
  Result<std::unique_ptr<PacketSource>> Open() { return PacketFeed::Open(feed, stop.get_token()); }

  const std::vector<std::uint8_t> jpeg = Jpeg();
  const std::vector<std::uint8_t> samples = std::vector<std::uint8_t>(320, 0xff);  // 40 ms
  std::shared_ptr<PacketFeed> feed;
  std::stop_source stop;
};

TEST_F(PacketFeedTest, TellsWhatTheTracksAreAndGivesEveryPacketBack) {
  Announce(true);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(Sound(kFrame * i).ok());
    ASSERT_TRUE(Video(kFrame * i).ok());
  }
  feed->End();
  const auto source = Open();
  ASSERT_TRUE(source.ok()) << source.error().ToString();
  const SourceInfo& info = *(*source)->info();
  EXPECT_EQ(info.video.width, 32);
  EXPECT_EQ(info.video.fps, (Rational{25, 1}));
  ASSERT_TRUE(info.audio.has_value());
  EXPECT_EQ(info.audio->sample_rate, 8000);
  int video = 0;
  int sound = 0;
  while (true) {
    const av::Packet packet = av::NewPacket();
    const auto state = (*source)->Read(*packet);
    ASSERT_TRUE(state.ok());
    if (*state == ReadState::kEnd) break;
    if (*state == ReadState::kVideo) {
      EXPECT_EQ(Rescale(packet->pts, info.video.time_base, {1, 25}), video++);
      EXPECT_EQ(packet->dts, packet->pts);
    } else {
      EXPECT_GT(video, 0) << "a picture is first";
      EXPECT_EQ(packet->pts, 320 * sound++);
      EXPECT_EQ(packet->duration, 320);
    }
  }
  EXPECT_EQ(video, 5);
  EXPECT_EQ(sound, 5);
}

TEST_F(PacketFeedTest, PacketsUnderOneTimeFollowEachOther) {
  Announce(true);
  ASSERT_TRUE(Video(0).ok());
  ASSERT_TRUE(Sound(0).ok());
  ASSERT_TRUE(Sound(-1).ok());
  feed->End();
  const auto source = Open();
  ASSERT_TRUE(source.ok());
  std::int64_t last = -1;
  for (int i = 0; i < 3; ++i) {
    const av::Packet packet = av::NewPacket();
    ASSERT_TRUE((*source)->Read(*packet).ok());
    last = packet->pts;
  }
  EXPECT_EQ(last, 320);
}

TEST_F(PacketFeedTest, SoundsHaveTheOrderOfTheirAnnouncementAndTheirOwnClocks) {
  Announce({{.kind = TrackKind::kAudio, .language = "eng", .title = "Ma\"in\xff"},
            {.kind = TrackKind::kAudio, .language = "und"},
            {.kind = TrackKind::kAudio, .language = "ger"},
            {.kind = TrackKind::kAudio, .language = "und"}});
  SetSound(1, 8000);
  SetSound(4, 8000);
  SetSound(3, 16'000);  // nobody ever says what 2 is
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(Sound(kFrame * i, 4).ok());
    ASSERT_TRUE(Sound(kFrame * i, 3).ok());
    ASSERT_TRUE(Sound(kFrame * i, 2).ok());
    ASSERT_TRUE(Sound(kFrame * i, 1).ok());
    ASSERT_TRUE(Video(kFrame * i).ok());
  }
  feed->End();
  const auto source = Open();
  ASSERT_TRUE(source.ok()) << source.error().ToString();
  const SourceInfo& info = *(*source)->info();
  ASSERT_EQ(info.sounds(), 3U);
  EXPECT_EQ(info.audio_tracks.size(), 3U);
  EXPECT_EQ(info.sound(0).language, "eng");
  EXPECT_EQ(info.sound(0).title, TagText("Ma\"in\xff"));
  EXPECT_EQ(info.sound(1).language, "ger");
  EXPECT_EQ(info.sound(2).language, "") << "undetermined";
  EXPECT_NE(info.sound(0).stream_index, info.sound(1).stream_index);
  EXPECT_EQ(info.sound(1).sample_rate, 16'000);
  std::vector<std::int64_t> next(3);  // pts, by sound
  for (av::Packet packet = av::NewPacket();; packet = av::NewPacket()) {
    const auto state = (*source)->Read(*packet);
    ASSERT_TRUE(state.ok());
    if (*state == ReadState::kEnd) break;
    if (*state == ReadState::kVideo) continue;
    const auto sound = static_cast<std::size_t>(packet->stream_index);
    ASSERT_LT(sound, 3U);
    EXPECT_EQ(packet->pts, next[sound]) << sound;
    next[sound] += sound == 1 ? 640 : 320;  // 40 ms
  }
  EXPECT_EQ(next, (std::vector<std::int64_t>{5 * 320, 5 * 640, 5 * 320}));
}

TEST_F(PacketFeedTest, MeasuresAFrameRateThatNobodySays) {
  MakeFeed({}, {.codec = "mjpeg"});
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Video(1'000'000'000LL * i * 1001 / 30'000).ok());
  const auto source = Open();
  ASSERT_TRUE(source.ok());
  EXPECT_EQ((*source)->info()->video.fps, (Rational{30'000, 1001}));
}

// Times of RTP may jump by hours from each picture to the next, and rates may be stated that are
// none.
TEST_F(PacketFeedTest, ARateThatCannotBeIsNotBelieved) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  for (const std::int64_t step :
       {std::int64_t{0}, std::int64_t{1}, 61 * kSecond, 2100 * kSecond, 86'400 * kSecond}) {
    MakeFeed({}, {.codec = "mjpeg"});
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(Video(step * i).ok());
    const auto source = Open();
    ASSERT_TRUE(source.ok()) << step;
    EXPECT_EQ((*source)->info()->video.fps, (Rational{25, 1})) << step;
  }
  for (const Rational stated : {Rational{1, 1'000'000'000}, {1'000'000'000, 1}, {-25, 1}, {1, 0}}) {
    MakeFeed({}, {.codec = "mjpeg", .frame_rate = stated});
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(Video(kFrame * i).ok());
    const auto source = Open();
    ASSERT_TRUE(source.ok()) << stated.num;
    EXPECT_EQ((*source)->info()->video.fps, (Rational{25, 1})) << stated.num;
  }
}

// Many cameras state half their rate; others are set to less than they state, and lose nothing.
TEST_F(PacketFeedTest, PicturesThatComeFasterThanIsStatedAreBelieved) {
  const std::array<std::pair<Rational, Rational>, 4> rates{
      {{{25, 2}, {25, 1}}, {{25, 1}, {25, 1}}, {{30, 1}, {30, 1}}, {{50, 1}, {50, 1}}}};
  for (const auto& [stated, expected] : rates) {
    MakeFeed({}, {.codec = "mjpeg", .frame_rate = stated});
    for (int i = 0; i < 6; ++i) ASSERT_TRUE(Video(kFrame * i).ok());
    const auto source = Open();
    ASSERT_TRUE(source.ok()) << source.error().ToString();
    EXPECT_EQ((*source)->info()->video.fps, expected) << stated.ToDouble();
  }
}

TEST_F(PacketFeedTest, SlowPicturesAreNotWaitedForToKnowTheRate) {
  MakeFeed({}, {.codec = "mjpeg", .frame_rate = {1, 1}}, std::chrono::minutes(1));
  ASSERT_TRUE(Video(0).ok());
  ASSERT_TRUE(Video(25 * kFrame).ok());
  const auto two = Open();
  ASSERT_TRUE(two.ok());
  EXPECT_EQ((*two)->info()->video.fps, (Rational{1, 1}));
  MakeFeed({}, {.codec = "mjpeg", .frame_rate = {25, 1}}, std::chrono::minutes(1));
  ASSERT_TRUE(Video(0).ok());
  EXPECT_TRUE(Open().ok()) << "half a second later";
}

TEST_F(PacketFeedTest, SoundOfARateThatIsNoneIsLeftOut) {
  for (const int rate : {0, 1, 999, 384'001, 16'777'215}) {
    MakeFeed({FeedTrack{.kind = TrackKind::kAudio}}, {.codec = "mjpeg", .frame_rate = {25, 1}});
    SetSound(1, rate);
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(Sound(kFrame * i).ok());
      ASSERT_TRUE(Video(kFrame * i).ok());
    }
    feed->End();
    const auto source = Open();
    ASSERT_TRUE(source.ok()) << rate;
    EXPECT_FALSE((*source)->info()->audio.has_value()) << rate;
  }
}

TEST_F(PacketFeedTest, APictureEveryFiveSecondsIsARate) {
  MakeFeed({}, {.codec = "mjpeg"});
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Video(5'000'000'000LL * i).ok());
  const auto source = Open();
  ASSERT_TRUE(source.ok());
  EXPECT_EQ((*source)->info()->video.fps, (Rational{1, 5}));
}

TEST_F(PacketFeedTest, PicturesDoNotWaitForeverForSoundThatWasAnnounced) {
  Announce(true);
  ASSERT_TRUE(Video(0).ok());
  std::jthread more([&](const std::stop_token& done) {
    for (int i = 1; !done.stop_requested() && Video(kFrame * i).ok(); ++i) {
      std::this_thread::yield();
    }
  });
  const auto source = Open();
  ASSERT_TRUE(source.ok());
  EXPECT_FALSE((*source)->info()->audio.has_value());
}

// A camera that sends a picture every few seconds and never the sound that it announced.
TEST_F(PacketFeedTest, RarePicturesWithoutTheirSoundAreAStream) {
  Announce(true);
  ASSERT_TRUE(Video(0).ok());
  const auto source = Open();
  ASSERT_TRUE(source.ok()) << source.error().ToString();
  EXPECT_FALSE((*source)->info()->audio.has_value());
}

TEST_F(PacketFeedTest, ASilentPublisherHasLeft) {
  Announce(false);
  EXPECT_EQ(Open().error().code, Code::kDeadlineExceeded);
  EXPECT_TRUE(feed->abandoned());
  EXPECT_EQ(Video(0).error().code, Code::kCancelled);
}

// Sound as fast as it is read: pictures have stopped, or never come.
TEST_F(PacketFeedTest, SoundAloneIsNoPublisher) {
  for (const bool begins : {true, false}) {
    Announce(true);
    if (begins) {
      ASSERT_TRUE(Video(0).ok());
      ASSERT_TRUE(Video(kFrame).ok());
    }
    std::atomic<bool> over = false;
    std::thread publisher([&] {
      for (std::int64_t at = 0; !over && Sound(at).ok(); at += kFrame / 2)
        std::this_thread::yield();
    });
    auto source = Open();
    EXPECT_EQ(source.ok(), begins);
    Status status = source.ok() ? OkStatus() : Status(source.error());
    while (status.ok()) {
      const av::Packet packet = av::NewPacket();
      const auto read = (*source)->Read(*packet);
      if (!read.ok()) status = read.error();
    }
    over = true;
    if (source.ok()) source->reset();
    publisher.join();
    EXPECT_EQ(status.error().code, Code::kDeadlineExceeded) << status.error().ToString();
  }
}

TEST_F(PacketFeedTest, WithoutAKeyFrameThereIsNoStream) {
  Announce(false);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Video(i, false).ok());
  feed->End();
  EXPECT_EQ(Open().error().code, Code::kCorrupt);
}

TEST_F(PacketFeedTest, GarbageIsNoPicture) {
  Announce(false);
  const std::vector<std::uint8_t> garbage(1000, 7);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(feed->Push({.bytes = garbage, .pts_ns = i, .key = true}).ok());
  }
  feed->End();
  EXPECT_EQ(Open().error().code, Code::kCorrupt);
  MakeFeed({}, {.codec = "gif"});
  ASSERT_TRUE(Video(0).ok());
  EXPECT_EQ(Open().error().code, Code::kUnsupported);
}

TEST_F(PacketFeedTest, IsBoundedInBytes) {
  Announce(false);
  const std::vector<std::uint8_t> large(kFeedBytes + 1, 1);
  ASSERT_TRUE(feed->Push({.bytes = large, .pts_ns = 0}).ok());
  std::atomic<bool> through = false;
  std::jthread pusher([&] {
    const Status pushed = Video(1);
    EXPECT_TRUE(!pushed.ok() && pushed.error().code == Code::kCancelled);
    through = true;
  });
  EXPECT_TRUE(StaysFalse(through));
  stop.request_stop();
  EXPECT_EQ(Open().error().code, Code::kCancelled);  // and frees who waits
}

// Pictures of tens of megabytes that nothing decodes are not collected for as long as small ones.
// One whose publisher was refused: its pipeline stops only when that thread comes back.
TEST_F(PacketFeedTest, TheEndFreesWhoWaitsToPush) {
  Announce(false);
  const std::vector<std::uint8_t> large(kFeedBytes + 1, 1);
  ASSERT_TRUE(feed->Push({.bytes = large, .pts_ns = 0, .key = true}).ok());
  std::atomic<bool> through = false;
  std::thread pusher([&] {
    EXPECT_EQ(Video(kFrame).error().code, Code::kCancelled);
    through = true;
  });
  EXPECT_TRUE(StaysFalse(through));
  feed->End();
  pusher.join();
}

TEST_F(PacketFeedTest, WhatIsLookedAtIsBoundedInBytes) {
  MakeFeed({}, {.codec = "mjpeg", .frame_rate = {25, 1}}, std::chrono::minutes(1));
  const std::vector<std::uint8_t> garbage(std::size_t{24} << 20U, 7);
  int taken = 0;
  std::jthread pusher([&] {
    while (feed->Push({.bytes = garbage, .pts_ns = kFrame * taken, .key = true}).ok()) ++taken;
  });
  EXPECT_EQ(Open().error().code, Code::kCorrupt);
  pusher.join();
  EXPECT_LE(taken, 8);  // six are looked at, and one or two wait
}

}  // namespace
}  // namespace gopmill
