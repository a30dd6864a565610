// SPDX-License-Identifier: Apache-2.0
#include "media/muxer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "media/container_rules.h"
#include "tests/unit/mux/mux_media.h"

namespace gopmill::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

struct Case {
  const char* name;
  Container container;
  bool streamed;
  const char* video;
  const char* audio;
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

class InEveryContainer : public ::testing::TestWithParam<Case> {
 protected:
  // Muxes the tracks as the case says; the path of the result.
  static std::string Mux(const std::vector<const Coded*>& tracks, const std::string& name) {
    const Case& c = GetParam();
    const std::string path = TempPath(name + "-" + c.name + "." + std::string(Name(c.container)));
    if (!c.streamed) {
      const Status status = MuxFile(c.container, tracks, path);
      EXPECT_TRUE(status.ok()) << status.error().ToString();
      return path;
    }
    const Muxed muxed = MuxStreamed(c.container, tracks);
    EXPECT_TRUE(muxed.status.ok()) << muxed.status.error().ToString();
    WriteFile(path, muxed.bytes);
    return path;
  }
  static void CheckSync(Rational fps, int b_frames);
  static bool coarse() {  // times in whole milliseconds
    return GetParam().container == Container::kMkv || GetParam().container == Container::kWebm;
  }
};

// Video of 240 frames and audio with three clicks: read back, every frame has its time, the clicks
// are in place against the first frame, and ffmpeg has nothing to say.
void InEveryContainer::CheckSync(Rational fps, int b_frames) {
  const Coded video = MakeVideo({.encoder = GetParam().video,
                                 .frames = 240,
                                 .fps = fps,
                                 .b_frames = b_frames,
                                 .global_header = GetParam().container != Container::kTs});
  const std::vector<double> at{0.5, 2.1, 3.7};
  const Coded audio = MakeAudio(GetParam().audio, Clicks(48000, 4.3, at), 48000, 2);
  const std::string path = Mux({&video, &audio}, "sync");
  const ReadMovie movie = ReadBack(path);
  ASSERT_EQ(movie.video().pts.size(), 240U);
  EXPECT_EQ(movie.video().errors + movie.audio().errors, 0);
  const double zero = movie.video().pts[0];
  for (std::size_t n = 0; n < 240; ++n) {
    ASSERT_NEAR(movie.video().pts[n] - zero, static_cast<double>(n) / fps.ToDouble(),
                coarse() ? 0.0011 : 0.00002)
        << n;
  }
  const auto clicks = FindClicks(movie.audio().samples, 48000, movie.audio().pts[0] - zero);
  ASSERT_EQ(clicks.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    ::testing::Test::RecordProperty("click" + std::to_string(i),
                                    std::to_string(1000 * (clicks[i] - at[i])));
    EXPECT_NEAR(clicks[i], at[i], 0.001);
  }
  EXPECT_NEAR(av_q2d(movie.video().frame_rate), fps.ToDouble(), 0.01);
  EXPECT_NEAR(av_q2d(movie.video().sample_aspect), 4.0 / 3, 0.01);
  const auto [code, text] =
      RunCommand("ffmpeg -nostdin -v error -xerror -i '" + path + "' -f null -");
  EXPECT_EQ(code, 0);
  EXPECT_EQ(text.substr(0, 300), "");
}

TEST_P(InEveryContainer, FramesTimesAndSyncAreExact) { CheckSync({24000, 1001}, 2); }
TEST_P(InEveryContainer, SoTheyAreWithoutReordering) { CheckSync({24, 1}, 0); }
TEST_P(InEveryContainer, SoTheyAreAtManyFrames) { CheckSync({60000, 1001}, 3); }

TEST_P(InEveryContainer, TheSameBytesTwice) {
  const Coded video = MakeVideo({.encoder = GetParam().video,
                                 .frames = 60,
                                 .global_header = GetParam().container != Container::kTs});
  const Coded audio = MakeAudio(GetParam().audio, Clicks(48000, 2.5, {1.0}), 48000, 2);
  const std::string a = ReadFile(Mux({&video, &audio}, "a"));
  const std::string b = ReadFile(Mux({&video, &audio}, "b"));
  EXPECT_FALSE(a.empty());
  EXPECT_TRUE(a == b);
  EXPECT_EQ(a.find(LIBAVFORMAT_IDENT), std::string::npos);
}

TEST_P(InEveryContainer, AudioThatStartsLateStaysInPlace) {
  for (const double start : {0.3, 7.0}) {
    const Coded video = MakeVideo({.encoder = GetParam().video,
                                   .frames = 240,
                                   .global_header = GetParam().container != Container::kTs});
    const Coded audio =
        MakeAudio(GetParam().audio, Clicks(48000, 2, {1.0}), 48000, 2, std::lround(start * 48000));
    const ReadMovie movie = ReadBack(Mux({&video, &audio}, "late"));
    ASSERT_EQ(movie.video().pts.size(), 240U);
    const auto clicks =
        FindClicks(movie.audio().samples, 48000, movie.audio().pts[0] - movie.video().pts[0]);
    ASSERT_EQ(clicks.size(), 1U);
    EXPECT_NEAR(clicks[0], start + 1.0, 0.001) << start;
  }
}

struct CodecCase {
  const char* name;
  Container container;
  const char* encoder;
  bool streamed;
};

class EveryVideoCodec : public ::testing::TestWithParam<CodecCase> {};

TEST_P(EveryVideoCodec, KeepsItsFrames) {
  const CodecCase& c = GetParam();
  const bool reorders = std::string_view(c.encoder) != "libsvtav1";
  const Coded video = MakeVideo({.encoder = c.encoder,
                                 .frames = 50,
                                 .fps = {25, 1},
                                 .b_frames = reorders ? 2 : 0,
                                 .global_header = c.container != Container::kTs,
                                 .width = 128,
                                 .height = 96});
  const std::string path = TempPath(std::string(c.name) + "." + std::string(Name(c.container)));
  if (c.streamed) {
    const Muxed muxed = MuxStreamed(c.container, {&video});
    ASSERT_TRUE(muxed.status.ok()) << muxed.status.error().ToString();
    WriteFile(path, muxed.bytes);
  } else {
    const Status status = MuxFile(c.container, {&video}, path);
    ASSERT_TRUE(status.ok()) << status.error().ToString();
  }
  const ReadMovie movie = ReadBack(path);
  ASSERT_EQ(movie.video().pts.size(), 50U);
  for (std::size_t n = 0; n < 50; ++n) {
    EXPECT_NEAR(movie.video().pts[n] - movie.video().pts[0], static_cast<double>(n) / 25, 0.0011);
  }
  if (c.container == Container::kMp4) {
    EXPECT_NEAR(movie.video().pts[0], 0, 0.00001);
    EXPECT_NEAR(movie.video().duration, 2, 0.00001);
  }
  if (c.container == Container::kMp4 && std::string_view(c.encoder) == "libx265") {
    EXPECT_EQ(movie.video().tag, MKTAG('h', 'v', 'c', '1'));
  }
  const auto [code, text] =
      RunCommand("ffmpeg -nostdin -v error -xerror -i '" + path + "' -f null -");
  EXPECT_EQ(text.substr(0, 300), "");
}

INSTANTIATE_TEST_SUITE_P(
    Mux, EveryVideoCodec,
    ::testing::Values(CodecCase{"HevcMp4", Container::kMp4, "libx265", true},
                      CodecCase{"HevcMp4File", Container::kMp4, "libx265", false},
                      CodecCase{"HevcTs", Container::kTs, "libx265", true},
                      CodecCase{"HevcMkv", Container::kMkv, "libx265", true},
                      CodecCase{"Av1Mp4", Container::kMp4, "libsvtav1", true},
                      CodecCase{"Av1Webm", Container::kWebm, "libsvtav1", true},
                      CodecCase{"Vp9Mp4", Container::kMp4, "libvpx-vp9", true},
                      CodecCase{"Vp9Mkv", Container::kMkv, "libvpx-vp9", false},
                      CodecCase{"Mpeg4Mp4", Container::kMp4, "mpeg4", true},
                      CodecCase{"Mpeg4Ts", Container::kTs, "mpeg4", true},
                      CodecCase{"Mpeg4Mkv", Container::kMkv, "mpeg4", true}),
    [](const auto& c) { return std::string(c.param.name); });

// Sound that is copied, by the encoder that it comes from.
class EveryCopiedCodec : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryCopiedCodec, IsHeardFromEachContainerThatTakesIt) {
  const Coded audio = MakeAudio(GetParam(), Clicks(48000, 2, {1.0}), 48000, 2);
  const char* codec = avcodec_get_name(audio.parameters->codec_id);
  const auto listen = [&](Container container, const std::string& path) {
    const ReadMovie movie = ReadBack(path);
    const auto clicks = FindClicks(movie.audio().samples, 48000, movie.audio().pts[0]);
    ASSERT_EQ(clicks.size(), 1U) << Name(container);
    // Not every container says how many samples the encoder put in front, nor where zero is.
    EXPECT_NEAR(clicks[0] - movie.video().pts[0], 1.0, 0.06) << Name(container);
  };
  for (const Container container :
       {Container::kMp4, Container::kTs, Container::kMkv, Container::kWebm}) {
    if (!CheckCopy(container, codec).ok()) continue;
    const Coded video =
        MakeVideo({.encoder = container == Container::kWebm ? "libvpx-vp9" : "mpeg4",
                   .frames = 48,
                   .b_frames = 0,
                   .global_header = container != Container::kTs});
    const std::string path = TempPath("copied." + std::string(Name(container)));
    const Muxed muxed = MuxStreamed(container, {&video, &audio});
    ASSERT_TRUE(muxed.status.ok()) << Name(container) << ": " << muxed.status.error().ToString();
    WriteFile(path, muxed.bytes);
    listen(container, path);
    const Status status = MuxFile(container, {&video, &audio}, path);
    ASSERT_TRUE(status.ok()) << Name(container) << ": " << status.error().ToString();
    listen(container, path);
  }
}

INSTANTIATE_TEST_SUITE_P(Mux, EveryCopiedCodec,
                         ::testing::Values("aac", "libopus", "libmp3lame", "mp2", "ac3", "eac3",
                                           "flac", "alac", "libvorbis", "pcm_s16le", "pcm_s24le",
                                           "pcm_f32le", "dca", "truehd"),
                         [](const auto& c) { return std::string(c.param); });

INSTANTIATE_TEST_SUITE_P(
    Mux, InEveryContainer,
    ::testing::Values(Case{"Mp4Streamed", Container::kMp4, true, "libx264", "aac"},
                      Case{"Mp4File", Container::kMp4, false, "libx264", "aac"},
                      Case{"Mp4OpusStreamed", Container::kMp4, true, "libx264", "libopus"},
                      Case{"Mp4OpusFile", Container::kMp4, false, "libx264", "libopus"},
                      Case{"Ts", Container::kTs, true, "libx264", "aac"},
                      Case{"TsFile", Container::kTs, false, "libx264", "aac"},
                      Case{"TsOpus", Container::kTs, true, "libx264", "libopus"},
                      Case{"MkvStreamed", Container::kMkv, true, "libx264", "aac"},
                      Case{"MkvFile", Container::kMkv, false, "libx264", "aac"},
                      Case{"MkvOpusStreamed", Container::kMkv, true, "libx264", "libopus"},
                      Case{"WebmStreamed", Container::kWebm, true, "libvpx-vp9", "libopus"},
                      Case{"WebmFile", Container::kWebm, false, "libvpx-vp9", "libopus"}),
    [](const auto& c) { return std::string(c.param.name); });

}  // namespace
}  // namespace gopmill::testing
