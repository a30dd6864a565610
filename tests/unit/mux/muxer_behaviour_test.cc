// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

extern "C" {
#include <libavutil/mastering_display_metadata.h>
}

#include <map>
#include <sstream>

#include "media/container_rules.h"
#include "media/muxer.h"
#include "tests/unit/mux/mux_media.h"

namespace gopmill::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const Coded& Video() {
  static const Coded kVideo = MakeVideo({.frames = 72});
  return kVideo;
}
const Coded& Audio() {
  static const Coded kAudio = MakeAudio("aac", Clicks(48000, 3, {1}), 48000, 2);
  return kAudio;
}

// Names of the boxes at the top level of an MP4.
std::vector<std::string> Boxes(const std::string& bytes) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at + 8 <= bytes.size();) {
    std::size_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size = size << 8 | static_cast<std::uint8_t>(bytes[at + i]);
    names.push_back(bytes.substr(at + 4, 4));
    if (size < 8) break;
    at += size;
  }
  return names;
}

TEST(MuxerTest, AFileHasItsMoovInFront) {
  const std::string path = TempPath("front.mp4");
  ASSERT_TRUE(MuxFile(Container::kMp4, {&Video(), &Audio()}, path).ok());
  EXPECT_EQ(Boxes(ReadFile(path)), (std::vector<std::string>{"ftyp", "moov", "free", "mdat"}));
}

TEST(MuxerTest, TheFirstFragmentGoesOutAtItsEnd) {
  const Muxed muxed = MuxStreamed(Container::kMp4, {&Video(), &Audio()});
  ASSERT_TRUE(muxed.status.ok());
  ASSERT_GE(muxed.after_fragment.size(), 2U);
  const auto first = Boxes(muxed.bytes.substr(0, muxed.after_fragment[0]));
  EXPECT_EQ(first, (std::vector<std::string>{"ftyp", "moov", "moof", "mdat"}));
  EXPECT_GT(muxed.after_fragment[1], muxed.after_fragment[0]);
}

TEST(MuxerTest, EveryContainerBringsBytesAtAFragmentEnd) {
  for (const Container container : {Container::kMp4, Container::kTs, Container::kMkv}) {
    const Muxed muxed = MuxStreamed(container, {&Video(), &Audio()});
    ASSERT_GE(muxed.after_fragment.size(), 1U);
    EXPECT_GT(muxed.after_fragment[0], 1000U) << Name(container);
  }
}

TEST(MuxerTest, SignalsPrimingAndReorderingInEditLists) {
  const std::string path = TempPath("start.mp4");
  WriteFile(path, MuxStreamed(Container::kMp4, {&Video(), &Audio()}).bytes);
  const auto [code, text] =
      RunCommand("ffprobe -v error -show_entries stream=start_time -of csv=p=0 '" + path + "'");
  EXPECT_EQ(text, "0.000000\n-0.021333\n");
}

// Of lengths that are 0, 1/3 and 2/3 of a millisecond more than whole ones.
TEST(MuxerTest, AFileKeepsALastPacketOfAFewSamples) {
  for (const double seconds : {3.0, 3.022, 3.044}) {
    Coded audio = MakeAudio("aac", Clicks(48000, seconds, {1}), 48000, 2);
    audio.packets.back()->duration = 7;
    const std::string path = TempPath("tail.mp4");
    ASSERT_TRUE(MuxFile(Container::kMp4, {&Video(), &audio}, path).ok());
    EXPECT_EQ(ReadBack(path).audio().packet_dts.size(), audio.packets.size()) << seconds;
  }
}

TEST(MuxerTest, ContinuityCountersOfATransportStreamCount) {
  const Muxed muxed = MuxStreamed(Container::kTs, {&Video(), &Audio()});
  ASSERT_EQ(muxed.bytes.size() % 188, 0U);
  std::map<int, int> last;
  for (std::size_t at = 0; at < muxed.bytes.size(); at += 188) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(muxed.bytes[at + i]); };
    ASSERT_EQ(byte(0), 0x47);
    const int pid = (byte(1) & 0x1F) << 8 | byte(2);
    const bool payload = (byte(3) & 0x10) != 0;
    const int counter = byte(3) & 0x0F;
    if (const auto found = last.find(pid); found != last.end() && payload) {
      ASSERT_EQ(counter, (found->second + 1) & 0x0F) << "pid " << pid << " at " << at;
    }
    if (payload) last[pid] = counter;
  }
  EXPECT_GE(last.size(), 4U);
}

TEST(MuxerTest, BlocksOfWebmComeInTheOrderOfTheirTimes) {
  const Coded video = MakeVideo({.encoder = "libvpx-vp9", .frames = 250, .fps = {30, 1}});
  const Coded audio = MakeAudio("libopus", Clicks(48000, 8, {1}), 48000, 2);
  const Muxed muxed = MuxStreamed(Container::kWebm, {&video, &audio});
  ASSERT_TRUE(muxed.status.ok());
  const std::string path = TempPath("order.webm");
  WriteFile(path, muxed.bytes);
  // The reader takes the 7 ms of priming off the times of track 1.
  const auto [code, text] = RunCommand(
      "ffprobe -v error -show_entries packet=stream_index,pts -of csv=p=0 '" + path + "'");
  std::istringstream lines(text);
  int last = 0, packets = 0, stream = 0, time = 0;
  for (char comma = 0; lines >> stream >> comma >> time; ++packets) {
    const int block = time + (stream == 1 ? 7 : 0);
    EXPECT_GE(block, last);
    last = block;
  }
  EXPECT_GT(packets, 600);
}

TEST(MuxerTest, CarriesLightLevels) {
  MuxTrack track = TrackOf(Video());
  const AVContentLightMetadata light{.MaxCLL = 1000, .MaxFALL = 400};
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&light);
  track.content_light.assign(bytes, bytes + sizeof(light));
  for (const Container container : {Container::kMp4, Container::kMkv}) {
    const std::string path = TempPath("light." + std::string(Name(container)));
    auto muxer = Muxer::Open({.container = container, .streamed = false, .path = path},
                             std::span(&track, 1), nullptr);
    ASSERT_TRUE(muxer.ok());
    for (const av::Packet& packet : Video().packets) {
      ASSERT_TRUE((*muxer)->Write(0, av::Ref(*packet)).ok());
    }
    ASSERT_TRUE((*muxer)->Finish().ok());
    const auto [code, text] = RunCommand("ffprobe -v error -show_streams '" + path + "'");
    EXPECT_THAT(text, HasSubstr("max_content=1000")) << Name(container);
  }
}

TEST(MuxerTest, AFullDiskIsNamed) {
  for (const Container container : {Container::kMp4, Container::kTs, Container::kMkv}) {
    const Status status = MuxFile(container, {&Video(), &Audio()}, "/dev/full");
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, Code::kResourceExhausted) << Name(container);
    EXPECT_THAT(status.error().message, HasSubstr("No space left"));
  }
}

TEST(MuxerTest, AFolderThatIsNotThereIsAnErrorWithoutItsPath) {
  const Status status = MuxFile(Container::kMp4, {&Video()}, "/nowhere/at/all.mp4");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, Not(HasSubstr("nowhere")));
}

TEST(MuxerTest, WhatTheOutputSaysComesBackAsItIs) {
  const MuxTrack tracks[] = {TrackOf(Video())};
  for (const Container container : {Container::kMp4, Container::kTs, Container::kMkv}) {
    int calls = 0;
    auto muxer =
        Muxer::Open({.container = container, .streamed = true, .path = {}}, tracks,
                    [&](std::span<const std::uint8_t>) -> Status {
                      ++calls;
                      return Error{.code = Code::kCancelled, .message = "The client left."};
                    });
    Status status = muxer.ok() ? OkStatus() : Status(muxer.error());
    for (std::size_t i = 0; status.ok() && i < Video().packets.size(); ++i) {
      status = (*muxer)->Write(0, av::Ref(*Video().packets[i]));
      if (status.ok()) status = (*muxer)->EndFragment();
    }
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, Code::kCancelled);
    EXPECT_EQ(status.error().message, "The client left.");
    EXPECT_EQ(calls, 1);
    if (!muxer.ok()) continue;
    EXPECT_EQ((*muxer)->Finish().error().code, Code::kCancelled);
  }
}

TEST(MuxerTest, TimesOutOfOrderAreOurMistake) {
  const MuxTrack tracks[] = {TrackOf(Video())};
  auto muxer = Muxer::Open({}, tracks, [](auto) { return OkStatus(); });
  ASSERT_TRUE(muxer.ok());
  ASSERT_TRUE((*muxer)->Write(0, av::Ref(*Video().packets[1])).ok());
  const Status again = (*muxer)->Write(0, av::Ref(*Video().packets[1]));
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Code::kInternal);
  EXPECT_EQ((*muxer)->packets_written(0), 1);
}

TEST(MuxerTest, CountsWhatItWrote) {
  const MuxTrack tracks[] = {TrackOf(Video())};
  std::size_t bytes = 0;
  auto muxer = Muxer::Open({}, tracks, [&](std::span<const std::uint8_t> part) {
    bytes += part.size();
    return OkStatus();
  });
  ASSERT_TRUE(muxer.ok());
  for (const av::Packet& packet : Video().packets) {
    ASSERT_TRUE((*muxer)->Write(0, av::Ref(*packet)).ok());
  }
  ASSERT_TRUE((*muxer)->Finish().ok());
  EXPECT_EQ((*muxer)->packets_written(0), 72);
  EXPECT_EQ(static_cast<std::size_t>((*muxer)->bytes_written()), bytes);
}

TEST(MuxerTest, ATrackWithoutPacketsDoesNoHarm) {
  const Coded silent{.parameters = Audio().parameters,
                     .time_base = Audio().time_base,
                     .frame_rate = {},
                     .packets = {}};
  for (const Container container : {Container::kMp4, Container::kTs, Container::kMkv}) {
    const Muxed muxed = MuxStreamed(container, {&Video(), &silent});
    ASSERT_TRUE(muxed.status.ok());
    const std::string path = TempPath("silent." + std::string(Name(container)));
    WriteFile(path, muxed.bytes);
    EXPECT_EQ(ReadBack(path).video().pts.size(), 72U) << Name(container);
  }
}

// Their sound is described by its packets.
TEST(MuxerTest, AStreamedMp4WaitsForLateDolbySound) {
  const Coded video = MakeVideo({.frames = 240});
  for (const char* encoder : {"ac3", "eac3"}) {
    const Coded late = MakeAudio(encoder, Clicks(48000, 3, {1}), 48000, 2, 6 * 48000);
    const Muxed muxed = MuxStreamed(Container::kMp4, {&video, &Audio(), &late});
    ASSERT_TRUE(muxed.status.ok()) << muxed.status.error().ToString();
    EXPECT_THAT(muxed.after_fragment, Contains(0U).Times(::testing::Ge(5)));
    const std::string path = TempPath(std::string("late_") + encoder + ".mp4");
    WriteFile(path, muxed.bytes);
    const ReadMovie movie = ReadBack(path);
    ASSERT_EQ(movie.tracks.size(), 3U);
    EXPECT_EQ(movie.video().pts.size(), 240U);
    const auto clicks = FindClicks(movie.tracks[2].samples, 48000, movie.tracks[2].pts.front());
    ASSERT_EQ(clicks.size(), 1U) << encoder;
    EXPECT_NEAR(clicks[0], 7, 0.01) << encoder;
  }
}

TEST(MuxerTest, DolbySoundWithoutAPacketIsRefusedInAStreamedMp4) {
  for (const char* encoder : {"ac3", "eac3"}) {
    Coded silent = MakeAudio(encoder, Clicks(48000, 1, {}), 48000, 2);
    silent.packets.clear();
    const Muxed muxed = MuxStreamed(Container::kMp4, {&Video(), &silent});
    ASSERT_FALSE(muxed.status.ok()) << encoder;
    EXPECT_EQ(muxed.status.error().code, Code::kUnsupported);
    EXPECT_THAT(muxed.status.error().accepted, HasSubstr("container=mkv"));
    EXPECT_TRUE(muxed.bytes.empty());
    EXPECT_TRUE(MuxFile(Container::kMp4, {&Video(), &silent}, TempPath("none.mp4")).ok());
  }
}

TEST(MuxerTest, OnePacketOfDolbySoundDescribesItIfThereAreNoMore) {
  for (const char* encoder : {"ac3", "eac3"}) {
    Coded one = MakeAudio(encoder, Clicks(48000, 1, {}), 48000, 2);
    one.packets.resize(1);
    const Muxed muxed = MuxStreamed(Container::kMp4, {&Video(), &one});
    ASSERT_TRUE(muxed.status.ok()) << muxed.status.error().ToString();
    const std::string path = TempPath(std::string("one_") + encoder + ".mp4");
    WriteFile(path, muxed.bytes);
    EXPECT_FALSE(ReadBack(path).tracks.at(1).samples.empty()) << encoder;
    one.packets[0]->data[0] = 0;  // what a recording that was cut into begins with
    EXPECT_FALSE(MuxStreamed(Container::kMp4, {&Video(), &one}).status.ok()) << encoder;
  }
}

TEST(MuxerTest, AStreamedMp4HoldsNoMoreThanIsAllowedForLateSound) {
  Coded silent = MakeAudio("ac3", Clicks(48000, 1, {}), 48000, 2);
  const std::vector<MuxTrack> tracks{TrackOf(Video()), TrackOf(silent)};
  auto muxer = Muxer::Open({}, tracks, [](auto) { return OkStatus(); });
  ASSERT_TRUE(muxer.ok());
  Status status = OkStatus();
  std::int64_t written = 0;
  for (; status.ok() && written < 100; ++written) {
    av::Packet packet = av::NewPacket();
    ASSERT_EQ(av_new_packet(packet.get(), 1 << 20), 0);
    std::fill_n(packet->data, packet->size, std::uint8_t{1});
    packet->pts = packet->dts = written;
    packet->duration = 1;
    status = (*muxer)->Write(0, std::move(packet));
  }
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kUnsupported);
  EXPECT_EQ(written, 33);
}

TEST(ContainerRulesTest, RefusalsNameTheParameterAndWhatFits) {
  EXPECT_TRUE(CheckContainer(Container::kMp4, VideoCodec::kHevc, AudioCodec::kAac).ok());
  EXPECT_TRUE(CheckContainer(Container::kWebm, VideoCodec::kVp9, AudioCodec::kNone).ok());
  const Status video = CheckContainer(Container::kWebm, VideoCodec::kH264, AudioCodec::kOpus);
  EXPECT_EQ(video.error().parameter, "vcodec");
  EXPECT_THAT(video.error().accepted, HasSubstr("vp9, av1"));
  const Status audio = CheckContainer(Container::kWebm, VideoCodec::kAv1, AudioCodec::kAac);
  EXPECT_EQ(audio.error().parameter, "acodec");
  EXPECT_THAT(audio.error().accepted, HasSubstr("opus"));
  EXPECT_TRUE(CheckCopy(Container::kTs, "ac3").ok());
  EXPECT_FALSE(CheckCopy(Container::kWebm, "ac3").ok());
}

}  // namespace
}  // namespace gopmill::testing
