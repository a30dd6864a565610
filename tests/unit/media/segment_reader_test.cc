// SPDX-License-Identifier: Apache-2.0
//
// Sound of any stretch of a movie is that of its place, though silence makes packets equal: of
// Matroska with several packets in a block, which all have its place in the file, and of AVI whose
// chunks begin amid packets, so that most have none. Pictures are raw, sound is AC-3 that nobody
// decodes. Where FFmpeg fails an assertion of its own in a seek, the same comes from the beginning.
#include "media/segment_reader.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

extern "C" {
#include <libavformat/avformat.h>
}

#include "base/contained.h"
#include "media/av_error.h"
#include "media/source.h"

namespace {
bool seeks_fail = false;  // as av_assert0 does
}

// In the place of the library's, which it calls.
int avformat_seek_file(AVFormatContext* format, int stream, std::int64_t least, std::int64_t at,
                       std::int64_t most, int flags) {
  if (seeks_fail) {
    av_log(format, AV_LOG_PANIC, "Assertion failed");
    std::abort();
  }
  static auto* const library =
      reinterpret_cast<decltype(&avformat_seek_file)>(dlsym(RTLD_NEXT, "avformat_seek_file"));
  return library(format, stream, least, at, most, flags);
}

namespace gopmill {
namespace {

constexpr int kMovieSeconds = 16, kMovieFps = 25, kMovieSide = 16;
constexpr std::size_t kSoundBytes = 256;  // of a packet: 32 ms at 64 kb/s
constexpr int kSoundPackets = kMovieSeconds * 1000 / 32;
constexpr int kHeardEach = 70;  // the others are silent

std::string SoundPacket(int number) {
  std::string packet("\x0B\x77\x00\x00\x08\x40\x40", 7);
  packet.resize(kSoundBytes, '\x33');
  if (number % kHeardEach == 0) packet.replace(20, 8, "heard " + std::to_string(10 + number / 7));
  packet.resize(kSoundBytes, '\x33');
  return packet;
}

std::string InOrderOf(std::uint64_t value, int count, std::endian order) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFFU);
  if (order == std::endian::big) std::ranges::reverse(bytes);
  return bytes;
}
std::string BigEnd(std::uint64_t value, int count) {
  return InOrderOf(value, count, std::endian::big);
}
std::string LittleEnd(std::uint64_t value, int count) {
  return InOrderOf(value, count, std::endian::little);
}

// Of EBML (RFC 8794), with a size of eight bytes.
std::string Element(std::uint32_t id, const std::string& content) {
  const int width = 4 - std::countl_zero(id) / 8;
  return BigEnd(id, width) + "\x01" + BigEnd(content.size(), 7) + content;
}
std::string NumberElement(std::uint32_t id, std::uint64_t value) {
  return Element(id, BigEnd(value, 8));
}

std::string SimpleBlock(int track, int time_ms, std::uint8_t flags, const std::string& content) {
  return Element(0xA3, BigEnd(0x80U | static_cast<unsigned>(track), 1) +
                           BigEnd(static_cast<std::uint64_t>(time_ms), 2) + BigEnd(flags, 1) +
                           content);
}

// One second: its pictures, and the sound that begins in it, eight packets in a block.
std::string Cluster(int second) {
  constexpr int kLaced = 8;
  constexpr std::uint8_t kKey = 0x80, kEqualSizes = 0x04;
  std::string blocks = NumberElement(0xE7, static_cast<std::uint64_t>(second) * 1000);
  for (int picture = 0; picture < kMovieFps; ++picture) {
    const int ms = picture * 1000 / kMovieFps;
    const std::string pixels(kMovieSide * kMovieSide * 3 / 2, static_cast<char>(second));
    blocks += SimpleBlock(1, ms, kKey, pixels);
    for (int n = 0; n < kSoundPackets; n += kLaced) {
      const int begin_ms = n * 32 - second * 1000;
      if (begin_ms < ms || begin_ms >= ms + 1000 / kMovieFps) continue;
      std::string laced;
      const int end = std::min(n + kLaced, kSoundPackets);
      for (int i = n; i < end; ++i) laced += SoundPacket(i);
      blocks += SimpleBlock(2, begin_ms, kKey | kEqualSizes,
                            BigEnd(static_cast<std::uint64_t>(end - n - 1), 1) + laced);
    }
  }
  return Element(0x1F43B675, blocks);
}

std::string LacedMatroska() {
  const std::string head =
      Element(0x1A45DFA3, NumberElement(0x42F2, 4) + NumberElement(0x42F3, 8) +
                              Element(0x4282, "matroska") + NumberElement(0x4287, 4) +
                              NumberElement(0x4285, 2));
  const std::string video =
      NumberElement(0xB0, kMovieSide) + NumberElement(0xBA, kMovieSide) + Element(0x2EB524, "I420");
  const std::string audio =
      Element(0xB5, BigEnd(std::bit_cast<std::uint32_t>(48'000.0F), 4)) + NumberElement(0x9F, 2);
  std::string movie = Element(
      0x1549A966,
      NumberElement(0x2AD7B1, 1'000'000) +
          Element(0x4489, BigEnd(std::bit_cast<std::uint32_t>(1000.0F * kMovieSeconds), 4)));
  movie += Element(
      0x1654AE6B,
      Element(0xAE, NumberElement(0xD7, 1) + NumberElement(0x73C5, 1) + NumberElement(0x83, 1) +
                        Element(0x86, "V_UNCOMPRESSED") +
                        NumberElement(0x23E383, 1'000'000'000 / kMovieFps) + Element(0xE0, video)) +
          Element(0xAE, NumberElement(0xD7, 2) + NumberElement(0x73C5, 2) + NumberElement(0x83, 2) +
                            Element(0x86, "A_AC3") + NumberElement(0x23E383, 32'000'000) +
                            Element(0xE1, audio)));
  std::string cues;
  for (int second = 0; second < kMovieSeconds; ++second) {
    cues += Element(0xBB,
                    NumberElement(0xB3, static_cast<std::uint64_t>(second) * 1000) +
                        Element(0xB7, NumberElement(0xF7, 1) + NumberElement(0xF1, movie.size())));
    movie += Cluster(second);
  }
  return head + Element(0x18538067, movie + Element(0x1C53BB6B, cues));
}

std::string Chunk(std::string_view name, const std::string& content) {
  return std::string(name) + LittleEnd(content.size(), 4) + content +
         std::string(content.size() % 2, '\0');
}

std::string StreamHead(std::string_view type, std::uint64_t scale, std::uint64_t rate,
                       std::uint64_t length, std::uint64_t sample_bytes) {
  return Chunk("strh", std::string(type) + std::string(16, '\0') + LittleEnd(scale, 4) +
                           LittleEnd(rate, 4) + LittleEnd(0, 4) + LittleEnd(length, 4) +
                           LittleEnd(4096, 4) + LittleEnd(UINT32_MAX, 4) +
                           LittleEnd(sample_bytes, 4) + std::string(8, '\0'));
}

// Sound in chunks of an eighth of a second, which is no number of packets.
std::string ChunkedAvi() {
  constexpr std::uint64_t kRate = 8000;
  constexpr std::size_t kChunkBytes = kRate / 8;
  constexpr std::uint64_t kPictures = kMovieSeconds * kMovieFps;
  std::string sound;
  for (int n = 0; n < kSoundPackets; ++n) sound += SoundPacket(n);
  const std::string bitmap = LittleEnd(40, 4) + LittleEnd(kMovieSide, 4) +
                             LittleEnd(kMovieSide, 4) + LittleEnd(1, 2) + LittleEnd(24, 2) +
                             std::string(24, '\0');
  const std::string wave = LittleEnd(0x2000, 2) + LittleEnd(2, 2) + LittleEnd(48'000, 4) +
                           LittleEnd(kRate, 4) + LittleEnd(1, 2) + LittleEnd(0, 2) +
                           LittleEnd(0, 2);
  const std::string main_head = LittleEnd(1'000'000 / kMovieFps, 4) + LittleEnd(0, 8) +
                                LittleEnd(0x10, 4) + LittleEnd(kPictures, 4) + LittleEnd(0, 4) +
                                LittleEnd(2, 4) + LittleEnd(0, 4) + LittleEnd(kMovieSide, 4) +
                                LittleEnd(kMovieSide, 4) + std::string(16, '\0');
  std::string movie = "movi", index;
  const auto add = [&](const char* name, const std::string& content) {
    index += name + LittleEnd(0x10, 4) + LittleEnd(movie.size(), 4) + LittleEnd(content.size(), 4);
    movie += Chunk(name, content);
  };
  std::size_t written = 0;
  for (std::uint64_t picture = 0; picture < kPictures; ++picture) {
    add("00db", std::string(kMovieSide * kMovieSide * 3, static_cast<char>(picture)));
    while (written < sound.size() && written * kMovieFps <= picture * kRate) {
      add("01wb", sound.substr(written, kChunkBytes));
      written += kChunkBytes;
    }
  }
  const std::string heads =
      Chunk("avih", main_head) +
      Chunk("LIST",
            "strl" + StreamHead("vids", 1, kMovieFps, kPictures, 0) + Chunk("strf", bitmap)) +
      Chunk("LIST", "strl" + StreamHead("auds", 1, kRate, sound.size(), 1) + Chunk("strf", wave));
  return Chunk(
      "RIFF", "AVI " + Chunk("LIST", "hdrl" + heads) + Chunk("LIST", movie) + Chunk("idx1", index));
}

UniqueFd FileWith(const std::string& bytes) {
  UniqueFd fd(memfd_create("movie", MFD_CLOEXEC));
  EXPECT_EQ(write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

struct MovieCase {
  const char* name;
  std::string (*make)();
};
void PrintTo(const MovieCase& movie, std::ostream* out) { *out << movie.name; }

class SilentMovieTest : public testing::TestWithParam<MovieCase> {};

TEST_P(SilentMovieTest, SoundIsThatOfItsPlace) {
  const std::string bytes = GetParam().make();
  const auto index = IndexSource(FileWith(bytes), {});
  ASSERT_TRUE(index.ok()) << index.error().ToString();
  ASSERT_EQ((*index)->audio.size(), static_cast<std::size_t>(kSoundPackets));
  auto reader = SegmentReader::Open(FileWith(bytes), *index, {});
  ASSERT_TRUE(reader.ok()) << reader.error().ToString();
  for (int first = 0; first < kSoundPackets; first += 3) {
    const int end = std::min(first + kHeardEach, kSoundPackets);
    const auto packets = (*reader)->ReadAudio(first, end);
    ASSERT_TRUE(packets.ok()) << "from " << first << " on: " << packets.error().ToString();
    ASSERT_EQ(packets->size(), static_cast<std::size_t>(end - first));
    for (int n = first; n < end; ++n) {
      const AVPacket& packet = *(*packets)[static_cast<std::size_t>(n - first)];
      const std::string_view got(reinterpret_cast<const char*>(packet.data),
                                 static_cast<std::size_t>(packet.size));
      ASSERT_EQ(got, SoundPacket(n)) << "packet " << n << ", read from " << first << " on";
      ASSERT_EQ(packet.pts, (*index)->audio[static_cast<std::size_t>(n)].position);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Movies, SilentMovieTest,
                         testing::Values(MovieCase{"several packets in a block", LacedMatroska},
                                         MovieCase{"chunks amid packets", ChunkedAvi}));

class FailedSeekTest : public testing::Test {
 protected:
  void SetUp() override {
    av::SilenceFfmpeg();
    ContainAssertions();
    seeks_fail = true;
  }
  void TearDown() override {
    seeks_fail = false;
    std::signal(SIGABRT, SIG_DFL);
  }
};

TEST_F(FailedSeekTest, LeavesASourceThatSaysSo) {
  auto source = Source::Open(FileWith(LacedMatroska()), {}, {});
  ASSERT_TRUE(source.ok()) << source.error().ToString();
  const int before = LeftBehind();
  for (int again = 0; again < 2; ++again) {
    const Status sought = (*source)->SeekBefore({5, 1});
    EXPECT_EQ(sought.error().code, Code::kCorrupt) << sought.error().ToString();
  }
  EXPECT_EQ(LeftBehind(), before + 1) << "what was left behind was used again";
  bool failed = false;
  for (int read = 0; read < kMovieSeconds * kMovieFps * 2 && !failed; ++read) {
    av::Packet packet = av::NewPacket();
    failed = !(*source)->Read(*packet).ok();  // those that are held come first
  }
  EXPECT_TRUE(failed);
}

TEST_F(FailedSeekTest, LeavesSegmentsThatAreReadFromTheBeginning) {
  const std::string bytes = LacedMatroska();
  const auto index = IndexSource(FileWith(bytes), {});
  ASSERT_TRUE(index.ok()) << index.error().ToString();
  auto reader = SegmentReader::Open(FileWith(bytes), *index, {});
  ASSERT_TRUE(reader.ok()) << reader.error().ToString();
  const int before = LeftBehind();
  const auto packets = (*reader)->ReadAudio(kHeardEach * 3, kHeardEach * 3 + 2);
  ASSERT_TRUE(packets.ok()) << packets.error().ToString();
  const AVPacket& packet = *packets->front();
  EXPECT_EQ(std::string(packet.data, packet.data + packet.size), SoundPacket(kHeardEach * 3));
  EXPECT_GT(LeftBehind(), before);
}

}  // namespace
}  // namespace gopmill
