// SPDX-License-Identifier: Apache-2.0
#include "codec/audio_transcoder.h"

#include <gtest/gtest.h>

extern "C" {
#include <libavutil/cpu.h>
}

#include <cmath>

#include "media/sound_layout.h"
#include "tests/unit/mux/mux_media.h"

namespace gopmill::testing {
namespace {

constexpr double kMillisecond = 0.001;

StreamPlan PlanFor(const Coded& source, AudioCodec codec, int channels = 2, int rate = 48000) {
  auto info = std::make_shared<SourceInfo>();
  info->audio = AudioInfo{.stream_index = 1,
                          .codec = avcodec_get_name(source.parameters->codec_id),
                          .sample_rate = source.parameters->sample_rate,
                          .channels = source.parameters->ch_layout.nb_channels,
                          .time_base = source.time_base,
                          .bitrate = 0,
                          .parameters = source.parameters};
  StreamPlan plan;
  plan.source = std::move(info);
  plan.target.acodec = codec;
  plan.target.abitrate = 128'000;
  plan.target.channels = channels;
  plan.target.layout = CodedLayout(codec, channels, StatedLayout(*plan.source->audio));
  plan.target.sample_rate = rate;
  return plan;
}

struct Transcoded {
  Coded coded;
  std::int64_t damaged = 0;
};

Transcoded Transcode(const Coded& source, const StreamPlan& plan, const AudioClip& clip = {},
                     bool global_header = true) {
  auto transcoder = AudioTranscoder::Open(plan, clip, global_header);
  EXPECT_TRUE(transcoder.ok()) << transcoder.error().ToString();
  Transcoded made;
  for (const av::Packet& packet : source.packets) {
    EXPECT_TRUE((*transcoder)->Push(packet.get(), made.coded.packets).ok());
  }
  EXPECT_TRUE((*transcoder)->Push(nullptr, made.coded.packets).ok());
  made.coded.parameters = (*transcoder)->parameters();
  made.coded.time_base = (*transcoder)->time_base();
  made.damaged = (*transcoder)->damaged();
  return made;
}

// Clicks as a player of the MP4 hears them, seconds after the first of 24 frames per second.
struct Heard {
  std::vector<double> clicks;
  double seconds = 0;  // length of the sound
  int channels = 0;
};
Heard Listen(const Coded& audio, Container container = Container::kMp4, double seconds = 4) {
  const Coded video =
      MakeVideo({.encoder = container == Container::kWebm ? "libvpx-vp9" : "libx264",
                 .frames = static_cast<int>(24 * seconds),
                 .global_header = container != Container::kTs});
  const Muxed muxed = MuxStreamed(container, {&video, &audio});
  EXPECT_TRUE(muxed.status.ok()) << muxed.status.error().ToString();
  const std::string path = TempPath("listen." + std::string(Name(container)));
  WriteFile(path, muxed.bytes);
  const ReadMovie movie = ReadBack(path);
  EXPECT_EQ(movie.audio().errors, 0);
  if (movie.audio().samples.empty()) return {};
  const int rate = movie.audio().sample_rate;
  return {FindClicks(movie.audio().samples, rate, movie.audio().pts[0] - movie.video().pts[0]),
          static_cast<double>(movie.audio().samples.size()) / rate, movie.audio().channels};
}

void ExpectClicks(const std::vector<double>& heard, const std::vector<double>& want,
                  double tolerance = kMillisecond) {
  ASSERT_EQ(heard.size(), want.size()) << ::testing::PrintToString(heard);
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(heard[i], want[i], tolerance);
}

const std::vector<double> kAt{0.25, 1.5, 2.75};

TEST(AudioTranscoderTest, OneMinuteStaysInSyncInEveryContainer) {
  const std::vector<double> at{0.25, 30.1, 59.4};
  const Coded source = MakeAudio("pcm_s16le", Clicks(44100, 60, at), 44100, 2);
  const Transcoded aac = Transcode(source, PlanFor(source, AudioCodec::kAac));
  const Transcoded opus = Transcode(source, PlanFor(source, AudioCodec::kOpus));
  for (const Container container : {Container::kMp4, Container::kTs, Container::kMkv}) {
    const auto clicks = Listen(aac.coded, container, 60).clicks;
    ExpectClicks(clicks, at);
    for (std::size_t i = 0; i < clicks.size(); ++i) {
      RecordProperty(std::string(Name(container)) + std::to_string(i),
                     std::to_string(1000 * (clicks[i] - at[i])));
    }
  }
  ExpectClicks(Listen(opus.coded, Container::kWebm, 60).clicks, at);
  ExpectClicks(Listen(opus.coded, Container::kMp4, 60).clicks, at);
}

// The source, but saying that it has so many channels, of no layout.
Coded SayingChannels(Coded source, int channels) {
  auto strange = std::shared_ptr<AVCodecParameters>(
      avcodec_parameters_alloc(), [](AVCodecParameters* p) { avcodec_parameters_free(&p); });
  strange->codec_type = source.parameters->codec_type;
  strange->codec_id = source.parameters->codec_id;
  strange->format = source.parameters->format;
  strange->sample_rate = source.parameters->sample_rate;
  strange->ch_layout.order = AV_CHANNEL_ORDER_UNSPEC;
  strange->ch_layout.nb_channels = channels;
  source.parameters = strange;
  return source;
}

// As a damaged header may have it: what cannot be mixed is silence, and is counted.
TEST(AudioTranscoderTest, ChannelsThatNothingCanMixAreSilence) {
  const Coded source =
      SayingChannels(MakeAudio("pcm_s16le", Clicks(48000, 1, {0.5}), 48000, 2), 100);
  const Transcoded made = Transcode(source, PlanFor(source, AudioCodec::kAac));
  EXPECT_GT(made.damaged, 0);
  std::int64_t total = 0;
  for (const av::Packet& packet : made.coded.packets) total += packet->duration;
  // To the end of the last packet, in which 896 samples of two channels are 17 of a hundred.
  EXPECT_EQ(total, 46 * 1024 + 17 + made.coded.parameters->initial_padding);
  ExpectClicks(Listen(made.coded).clicks, {});
}

// Thirty-two channels have no usual layout: two of them are better than none.
TEST(AudioTranscoderTest, OfChannelsWithoutALayoutTheFirstAreTaken) {
  const Coded source =
      SayingChannels(MakeAudio("pcm_s16le", Clicks(48000, 3, {1.0}), 48000, 2), 32);
  const Transcoded made = Transcode(source, PlanFor(source, AudioCodec::kAac));
  EXPECT_EQ(made.damaged, 0);
  EXPECT_FALSE(Listen(made.coded).clicks.empty());
}

struct SourceCase {
  const char* encoder;
  int rate, channels, out_channels;
};

class EverySource : public ::testing::TestWithParam<SourceCase> {};

TEST_P(EverySource, KeepsClicksInPlace) {
  const SourceCase& c = GetParam();
  const Coded source = MakeAudio(c.encoder, Clicks(c.rate, 4, kAt), c.rate, c.channels);
  const Transcoded made = Transcode(source, PlanFor(source, AudioCodec::kAac, c.out_channels));
  EXPECT_EQ(made.damaged, 0);
  const Heard heard = Listen(made.coded);
  ExpectClicks(heard.clicks, kAt);
  EXPECT_EQ(heard.channels, c.out_channels);
}

INSTANTIATE_TEST_SUITE_P(
    Sources, EverySource,
    ::testing::Values(SourceCase{"pcm_s16le", 48000, 2, 2}, SourceCase{"pcm_s16le", 44100, 1, 2},
                      SourceCase{"pcm_s24le", 96000, 2, 2}, SourceCase{"flac", 44100, 2, 2},
                      SourceCase{"aac", 48000, 6, 2}, SourceCase{"aac", 44100, 2, 1},
                      SourceCase{"aac", 48000, 6, 6}, SourceCase{"ac3", 48000, 6, 2},
                      SourceCase{"libopus", 48000, 2, 2}, SourceCase{"libmp3lame", 44100, 2, 2},
                      SourceCase{"libvorbis", 44100, 2, 2}),
    [](const auto& c) {
      return std::string(c.param.encoder) + std::to_string(c.param.rate) + "x" +
             std::to_string(c.param.channels) + "to" + std::to_string(c.param.out_channels);
    });

TEST(AudioTranscoderTest, TheLengthIsExact) {
  for (const int samples : {1, 1023, 1024, 1025, 100'000}) {
    const std::vector<float> silence(static_cast<std::size_t>(samples));
    const Coded source = MakeAudio("pcm_s16le", silence, 48000, 2);
    for (const AudioCodec codec : {AudioCodec::kAac, AudioCodec::kOpus}) {
      const Coded coded = Transcode(source, PlanFor(source, codec)).coded;
      std::int64_t total = 0;
      for (const av::Packet& packet : coded.packets) total += packet->duration;
      EXPECT_EQ(coded.packets[0]->pts, -coded.parameters->initial_padding);
      EXPECT_EQ(total, samples + coded.parameters->initial_padding) << samples;
    }
  }
}

TEST(AudioTranscoderTest, LateSoundStartsLate) {
  const Coded source = MakeAudio("pcm_s16le", Clicks(48000, 2, {0.5}), 48000, 2, 96'000);
  const Coded coded = Transcode(source, PlanFor(source, AudioCodec::kAac)).coded;
  EXPECT_EQ(coded.packets[0]->pts, 96'000 - 1024);
  ExpectClicks(Listen(coded).clicks, {2.5});
}

TEST(AudioTranscoderTest, GapsAreFilledAndOverlapsCut) {
  Coded source = MakeAudio("pcm_s16le", Clicks(48000, 4, kAt), 48000, 2);
  for (const av::Packet& packet : source.packets) {
    if (packet->pts >= 2 * 48000)
      packet->pts += 12'345;  // 257 ms of nothing
    else if (packet->pts >= 1 * 48000)
      packet->pts -= 4'800;  // 100 ms twice
  }
  const Coded coded = Transcode(source, PlanFor(source, AudioCodec::kAac)).coded;
  ExpectClicks(Listen(coded).clicks, {0.25, 1.4, 2.75 + 12'345 / 48000.0}, 0.0001);
  std::int64_t next = -1024;
  for (const av::Packet& packet : coded.packets) {
    ASSERT_EQ(packet->pts, next);
    next += packet->duration;
  }
  EXPECT_EQ(next, 4 * 48000 + 12'345);
}

TEST(AudioTranscoderTest, MillisecondTimesDoNotAddUp) {
  Coded source = MakeAudio("pcm_s16le", Clicks(44100, 4, kAt), 44100, 2);
  for (const av::Packet& packet : source.packets) {
    packet->pts = packet->dts = Rescale(packet->pts, source.time_base, {1, 1000});
  }
  source.time_base = {1, 1000};
  const Coded coded = Transcode(source, PlanFor(source, AudioCodec::kAac)).coded;
  ExpectClicks(Listen(coded).clicks, kAt, 0.0001);
}

TEST(AudioTranscoderTest, TheClipIsCutToTheSample) {
  const Coded source = MakeAudio("pcm_s16le", Clicks(48000, 4, kAt), 48000, 2);
  const AudioClip clip{.start = {4, 3}, .end = {5, 2}};
  const Coded coded = Transcode(source, PlanFor(source, AudioCodec::kAac), clip).coded;
  ExpectClicks(Listen(coded).clicks, {1.5 - 4.0 / 3}, 0.0001);
  std::int64_t total = -1024;
  for (const av::Packet& packet : coded.packets) total += packet->duration;
  EXPECT_EQ(total, 120'000 - 64'000);
}

TEST(AudioTranscoderTest, DamagedPacketsBecomeSilence) {
  Coded source = MakeAudio("aac", Clicks(48000, 4, kAt), 48000, 2);
  for (std::size_t i = 90; i < 95; ++i) {
    av_packet_make_writable(source.packets[i].get());
    for (int b = 0; b < source.packets[i]->size; ++b) source.packets[i]->data[b] = 0xFF;
  }
  const Transcoded made = Transcode(source, PlanFor(source, AudioCodec::kAac));
  EXPECT_GT(made.damaged, 0);
  ExpectClicks(Listen(made.coded).clicks, kAt);
  std::int64_t total = -1024;
  for (const av::Packet& packet : made.coded.packets) total += packet->duration;
  EXPECT_NEAR(static_cast<double>(total), 4 * 48000 + 1024, 1024);
}

TEST(AudioTranscoderTest, ThousandsOfOddPacketsDoNoHarm) {
  Coded source = MakeAudio("libmp3lame", Clicks(48000, 4, kAt), 48000, 2);
  std::uint32_t seed = 7;
  for (const av::Packet& packet : source.packets) {
    av_packet_make_writable(packet.get());
    for (int b = 0; b < packet->size; ++b) {
      seed = seed * 1664525 + 1013904223;
      if (seed >> 24 < 30) packet->data[b] = static_cast<std::uint8_t>(seed >> 16);
    }
  }
  const Transcoded made = Transcode(source, PlanFor(source, AudioCodec::kOpus));
  std::int64_t last = -1'000'000;
  for (const av::Packet& packet : made.coded.packets) {
    EXPECT_GT(packet->dts, last);
    last = packet->dts;
  }
}

TEST(AudioTranscoderTest, NoSoundNoPackets) {
  const Coded source = MakeAudio("pcm_s16le", Clicks(48000, 1, {}), 48000, 2);
  const AudioClip clip{.start = {10, 1}, .end = {12, 1}};
  EXPECT_TRUE(Transcode(source, PlanFor(source, AudioCodec::kAac), clip).coded.packets.empty());
  EXPECT_TRUE(Transcode(source, PlanFor(source, AudioCodec::kOpus), clip).coded.packets.empty());
}

TEST(AudioTranscoderTest, RateAndLayoutMayChangeOnTheWay) {
  const Coded first = MakeAudio("flac", Clicks(44100, 2, {0.25, 1.5}), 44100, 2);
  const Coded second = MakeAudio("flac", Clicks(48000, 2, {0.75}), 48000, 1);
  Coded source{
      .parameters = first.parameters, .time_base = {1, 1000}, .frame_rate = {}, .packets = {}};
  const auto add = [&](const Coded& part, std::int64_t from) {
    for (const av::Packet& packet : part.packets) {
      source.packets.push_back(av::Ref(*packet));
      source.packets.back()->pts = from + Rescale(packet->pts, part.time_base, {1, 1000});
    }
  };
  add(first, 0);
  add(second, 2000);
  const Transcoded made = Transcode(source, PlanFor(source, AudioCodec::kAac));
  ExpectClicks(Listen(made.coded).clicks, kAt);
}

std::string BytesOf(const Coded& coded) {
  std::string bytes;
  for (const av::Packet& packet : coded.packets) {
    bytes.append(reinterpret_cast<const char*>(packet->data),
                 static_cast<std::size_t>(packet->size));
    bytes += std::to_string(packet->pts) + "/" + std::to_string(packet->duration);
  }
  return bytes;
}

TEST(AudioTranscoderTest, TheSameBytesOnEveryCpu) {
  for (const char* encoder : {"aac", "ac3", "libmp3lame", "flac"}) {
    const Coded source = MakeAudio(encoder, Clicks(44100, 4, kAt), 44100, 2);
    const StreamPlan plan = PlanFor(source, AudioCodec::kAac);
    EXPECT_TRUE(AudioCpuIndependent(plan.source->audio->codec, AudioCodec::kAac)) << encoder;
    const std::string first = BytesOf(Transcode(source, plan).coded);
    EXPECT_TRUE(first == BytesOf(Transcode(source, plan).coded)) << encoder;
    av_force_cpu_flags(0);
    const std::string plain = BytesOf(Transcode(source, plan).coded);
    av_force_cpu_flags(-1);
    EXPECT_TRUE(first == plain) << encoder;
  }
  const Coded opus = MakeAudio("libopus", Clicks(48000, 4, kAt), 48000, 2);
  const StreamPlan plan = PlanFor(opus, AudioCodec::kOpus);
  EXPECT_TRUE(BytesOf(Transcode(opus, plan).coded) == BytesOf(Transcode(opus, plan).coded));
}

TEST(AudioTranscoderTest, CopiesPacketsAsTheyAre) {
  const Coded source = MakeAudio("aac", Clicks(48000, 4, kAt), 48000, 2);
  const Coded coded = Transcode(source, PlanFor(source, AudioCodec::kCopy)).coded;
  ASSERT_EQ(coded.packets.size(), source.packets.size());
  for (std::size_t i = 0; i < coded.packets.size(); ++i) {
    EXPECT_EQ(coded.packets[i]->pts, source.packets[i]->pts);
    EXPECT_EQ(coded.packets[i]->size, source.packets[i]->size);
  }
  for (const Container container : {Container::kMp4, Container::kTs, Container::kMkv}) {
    ExpectClicks(Listen(coded, container).clicks, kAt);
  }
}

TEST(AudioTranscoderTest, CopiedTimesAreRepairedAndCut) {
  Coded source = MakeAudio("aac", Clicks(48000, 4, kAt), 48000, 2);
  for (const av::Packet& packet : source.packets) {
    packet->pts = Rescale(packet->pts, source.time_base, {1, 1000});
  }
  source.time_base = {1, 1000};
  source.packets[50]->pts = source.packets[49]->pts;
  const AudioClip clip{.start = {1, 1}, .end = {3, 1}};
  const Coded coded = Transcode(source, PlanFor(source, AudioCodec::kCopy), clip).coded;
  ASSERT_FALSE(coded.packets.empty());
  EXPECT_GT(coded.packets.front()->pts, -1024);
  EXPECT_LE(coded.packets.front()->pts, 0);
  EXPECT_LT(coded.packets.back()->pts, 96'000);
  for (std::size_t i = 1; i < coded.packets.size(); ++i) {
    EXPECT_EQ(coded.packets[i]->pts - coded.packets[i - 1]->pts, 1024) << i;
  }
  ExpectClicks(Listen(coded).clicks, {0.5, 1.75});
}

void Move(const Coded& source, std::size_t first, std::size_t end, std::int64_t ticks) {
  for (std::size_t i = first; i < end; ++i) source.packets[i]->pts += ticks;
}

// As where two parts of a recording were joined: what comes twice is heard once.
TEST(AudioTranscoderTest, ACopyLeavesOutWhatComesTwice) {
  const Coded source = MakeAudio("aac", Clicks(48000, 4, kAt), 48000, 2);
  Move(source, 100, source.packets.size(), -5 * 1024);
  const Coded coded = Transcode(source, PlanFor(source, AudioCodec::kCopy)).coded;
  ASSERT_EQ(coded.packets.size(), source.packets.size() - 5);
  for (std::size_t i = 1; i < coded.packets.size(); ++i) {
    EXPECT_EQ(coded.packets[i]->pts - coded.packets[i - 1]->pts, 1024) << i;
  }
  EXPECT_EQ(coded.packets.back()->pts, source.packets.back()->pts);
}

// It is not pushed later by each of them.
TEST(AudioTranscoderTest, ACopyComesBackToTheTimesOfItsSource) {
  const Coded source = MakeAudio("aac", Clicks(48000, 4, kAt), 48000, 2);
  for (std::size_t i = 20; i < 120; i += 20) Move(source, i, i + 1, 2400);
  const Coded coded = Transcode(source, PlanFor(source, AudioCodec::kCopy)).coded;
  for (std::size_t i = 1; i < coded.packets.size(); ++i) {
    EXPECT_GE(coded.packets[i]->pts - coded.packets[i - 1]->pts, 1024) << i;
  }
  EXPECT_LE(coded.packets.back()->pts - source.packets.back()->pts, 1024);
}

// The sound of a transport stream: each packet has an ADTS header.
struct AdtsSource {
  av::InputFormat input;
  Coded sound;
};
AdtsSource MakeAdts(int channels) {
  const Coded video = MakeVideo({.frames = 96, .global_header = false});
  const Coded aac = MakeAudio("aac", Clicks(48000, 4, kAt), 48000, channels);
  const std::string path = TempPath("adts.ts");
  WriteFile(path, MuxStreamed(Container::kTs, {&video, &aac}).bytes);
  AVFormatContext* raw = nullptr;
  GOPMILL_CHECK(avformat_open_input(&raw, path.c_str(), nullptr, nullptr) >= 0);
  AdtsSource made{.input = av::InputFormat(raw), .sound = {}};
  GOPMILL_CHECK(avformat_find_stream_info(raw, nullptr) >= 0);
  Coded& source = made.sound;
  source = {.parameters = {raw->streams[1]->codecpar, [](const AVCodecParameters*) {}},
            .time_base = {1, 90000},
            .frame_rate = {},
            .packets = {}};
  const std::int64_t zero = raw->streams[0]->start_time;
  for (av::Packet packet = av::NewPacket(); av_read_frame(raw, packet.get()) >= 0;
       packet = av::NewPacket()) {
    packet->pts -= zero;
    if (packet->stream_index == 1) source.packets.push_back(std::move(packet));
  }
  return made;
}

TEST(AudioTranscoderTest, CopiesAacOutOfTransportStreams) {
  const AdtsSource adts = MakeAdts(2);
  const Coded& source = adts.sound;
  const Coded coded = Transcode(source, PlanFor(source, AudioCodec::kCopy)).coded;
  EXPECT_EQ(coded.parameters->extradata_size, 2);
  for (const Container container : {Container::kMp4, Container::kMkv}) {
    ExpectClicks(Listen(coded, container).clicks, kAt);
  }
}

// 6.1 has no channel configuration: neither by its layout nor, where that was told wrong, by its
// packets.
TEST(AudioTranscoderTest, AacThatOnlyItsPacketsDescribeIsNotCopied) {
  const AdtsSource adts = MakeAdts(7);
  const Coded& source = adts.sound;
  const auto refused = AudioTranscoder::Open(PlanFor(source, AudioCodec::kCopy), AudioClip{}, true);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().parameter, "acodec");
  EXPECT_TRUE(AudioTranscoder::Open(PlanFor(source, AudioCodec::kCopy), AudioClip{}, false).ok());
  av_channel_layout_uninit(&adts.input->streams[1]->codecpar->ch_layout);
  av_channel_layout_default(&adts.input->streams[1]->codecpar->ch_layout, 8);
  auto taken = AudioTranscoder::Open(PlanFor(source, AudioCodec::kCopy), AudioClip{}, true);
  ASSERT_TRUE(taken.ok());
  std::vector<av::Packet> out;
  const Status pushed = (*taken)->Push(source.packets.front().get(), out);
  ASSERT_FALSE(pushed.ok());
  EXPECT_EQ(pushed.error().parameter, "acodec");
}

// Packets in another time base, `seconds` later.
Coded Later(Coded source, Rational time_base, std::int64_t seconds) {
  const std::int64_t shift = seconds * time_base.den / time_base.num;
  for (av::Packet& packet : source.packets) {
    packet->pts = packet->dts = Rescale(packet->pts, source.time_base, time_base) + shift;
    packet->duration = Rescale(packet->duration, source.time_base, time_base);
  }
  source.time_base = time_base;
  return source;
}

// Other codec, rate and channels from the second second on, and from the fifth; nothing between the
// third and the fifth: as one stream of sound, with silence where nothing comes.
TEST(AudioTranscoderTest, GoesOnWithSoundThatIsCodedInAnotherWay) {
  const Coded first = MakeAudio("pcm_s16le", Clicks(48000, 2, {0.25, 1.75}), 48000, 2);
  const Coded second =
      Later(MakeAudio("libmp3lame", Clicks(44100, 1, {0.5}), 44100, 1), first.time_base, 2);
  const Coded third =
      Later(MakeAudio("pcm_s16le", Clicks(48000, 2, {0.5}), 48000, 2), first.time_base, 5);
  const StreamPlan plan = PlanFor(first, AudioCodec::kAac);
  auto transcoder = AudioTranscoder::Open(plan, {}, true);
  ASSERT_TRUE(transcoder.ok());
  Coded made;
  const auto push = [&](const Coded& source) {
    EXPECT_TRUE((*transcoder)
                    ->ChangeSource(*PlanFor(source, AudioCodec::kAac).source->audio, made.packets)
                    .ok());
    for (const av::Packet& packet : source.packets) {
      EXPECT_TRUE((*transcoder)->Push(packet.get(), made.packets).ok());
    }
  };
  push(first);
  push(second);
  for (const double seconds : {2.5, 3.5, 4.5, 5.02}) {  // not backwards, and further than it lasts
    EXPECT_TRUE((*transcoder)->FillTo(seconds, false, made.packets).ok());
  }
  const std::int64_t filled = made.packets.back()->pts + made.packets.back()->duration;
  EXPECT_GT(filled, 48000 * 49 / 10) << "silence does not wait for the sound behind it";
  push(third);
  EXPECT_TRUE((*transcoder)->Push(nullptr, made.packets).ok());
  made.parameters = (*transcoder)->parameters();
  made.time_base = (*transcoder)->time_base();
  EXPECT_EQ((*transcoder)->damaged(), 0);
  for (std::size_t i = 1; i < made.packets.size(); ++i) {
    const AVPacket& before = *made.packets[i - 1];
    EXPECT_EQ(made.packets[i]->pts, before.pts + before.duration) << i;
  }
  const Heard heard = Listen(made, Container::kMp4, 7);
  ExpectClicks(heard.clicks, {0.25, 1.75, 2.5, 5.5}, 0.002);
}

// Hours of silence or of one long packet are not made for somebody who has left.
TEST(AudioTranscoderTest, WhatIsStoppedEndsBetweenTwoPieces) {
  const Coded source = MakeAudio("pcm_s16le", Clicks(48000, 1, {0.5}), 48000, 2);
  std::stop_source stop;
  auto transcoder =
      AudioTranscoder::Open(PlanFor(source, AudioCodec::kAac), {}, true, 0, stop.get_token());
  ASSERT_TRUE(transcoder.ok());
  std::vector<av::Packet> made;
  ASSERT_TRUE((*transcoder)->Push(source.packets.front().get(), made).ok());
  stop.request_stop();
  const Status filled = (*transcoder)->FillTo(3600.0 * 24 * 365, true, made);
  ASSERT_FALSE(filled.ok());
  EXPECT_EQ(filled.error().code, Code::kCancelled);
  const Status pushed = (*transcoder)->Push(source.packets.back().get(), made);
  ASSERT_FALSE(pushed.ok());
  EXPECT_EQ(pushed.error().code, Code::kCancelled);
}

TEST(AudioTranscoderTest, SilenceAloneIsNoSound) {
  const Coded source = MakeAudio("pcm_s16le", Clicks(48000, 1, {0.5}), 48000, 2);
  auto transcoder = AudioTranscoder::Open(PlanFor(source, AudioCodec::kAac), {}, true);
  ASSERT_TRUE(transcoder.ok());
  Coded made;
  EXPECT_TRUE((*transcoder)->FillTo(5, false, made.packets).ok());
  EXPECT_TRUE(made.packets.empty()) << "sound that starts late starts late";
}

TEST(AudioTranscoderTest, ACopyGoesOnWithItsLikeOnly) {
  const Coded aac = MakeAudio("aac", Clicks(48000, 1, {0.5}), 48000, 2);
  const Coded again = MakeAudio("aac", Clicks(48000, 1, {0.25}), 48000, 2);
  const Coded mono = MakeAudio("aac", Clicks(48000, 1, {0.5}), 48000, 1);
  const Coded mp3 = MakeAudio("libmp3lame", Clicks(48000, 1, {0.5}), 48000, 2);
  auto transcoder = AudioTranscoder::Open(PlanFor(aac, AudioCodec::kCopy), {}, true);
  ASSERT_TRUE(transcoder.ok());
  std::vector<av::Packet> out;
  const auto change = [&](const Coded& source) {
    return (*transcoder)->ChangeSource(*PlanFor(source, AudioCodec::kCopy).source->audio, out);
  };
  EXPECT_TRUE(change(again).ok());
  for (const Coded* other : {&mono, &mp3}) {
    const Status status = change(*other);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, Code::kUnsupported);
    EXPECT_EQ(status.error().parameter, "acodec");
  }
  EXPECT_TRUE((*transcoder)->FillTo(5, false, out).ok());
  EXPECT_TRUE(out.empty()) << "nothing can be put into its gaps";
}

}  // namespace
}  // namespace gopmill::testing
