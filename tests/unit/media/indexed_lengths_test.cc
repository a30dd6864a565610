// SPDX-License-Identifier: Apache-2.0
#include "media/indexed_lengths.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "tests/unit/media/boxes.h"

namespace gopmill {
namespace {

using test::Big;
using test::Box;

// Three fragments, the first of them at `first`, each `length` ticks of `clock` long.
std::string IndexBox(std::uint64_t track, std::uint64_t clock, std::uint64_t first,
                     std::uint64_t length, bool wide = false) {
  const int width = wide ? 8 : 4;
  std::string content = Big(wide ? 1U << 24U : 0) + Big(track) + Big(clock) + Big(first, width) +
                        Big(0, width) + Big(3);
  for (int i = 0; i < 3; ++i) content += Big(100) + Big(length) + Big(0);
  return Box("sidx", content);
}

struct Mended {
  std::vector<std::int64_t> lengths;  // milliseconds, of two tracks
  double begin = 0;                   // seconds
};

// Of tracks number 1 and 2 that FFmpeg takes for 77 ms long; the first has a packet at `packet`.
Mended MendedOf(const std::string& file, std::int64_t packet = 0) {
  const UniqueFd fd(memfd_create("movie", 0));
  EXPECT_EQ(write(fd.get(), file.data(), file.size()), std::ssize(file));
  AVFormatContext* format = avformat_alloc_context();
  for (int i = 1; i <= 2; ++i) {
    AVStream& stream = *avformat_new_stream(format, nullptr);
    stream.id = i;
    stream.time_base = {1, 1000};
    stream.duration = 77;
  }
  av_add_index_entry(format->streams[0], 0, packet, 1, 0, 0);
  const double begin = MendIndexedLengths(fd.get(), *format);
  Mended mended{{format->streams[0]->duration, format->streams[1]->duration}, begin};
  avformat_free_context(format);
  return mended;
}

using Lengths = std::vector<std::int64_t>;
Lengths LengthsOf(const std::string& file, std::int64_t packet = 0) {
  return MendedOf(file, packet).lengths;
}

const std::string kHead = Box("ftyp", "") + Box("moov", "");

TEST(IndexedLengths, AreInTheTicksOfTheIndex) {
  EXPECT_EQ(LengthsOf(kHead + IndexBox(1, 10, 5, 20)), (Lengths{6500, 6500}));
  EXPECT_EQ(LengthsOf(kHead + IndexBox(1, 90'000, 0, 90'000, true)), (Lengths{3000, 3000}));
  EXPECT_EQ(LengthsOf(kHead + IndexBox(1, 10, 0, 20) + IndexBox(2, 100, 0, 100)),
            (Lengths{6000, 3000}));
}

TEST(IndexedLengths, StayWhereTheTicksAreThoseOfTheTrack) {
  EXPECT_EQ(LengthsOf(kHead + IndexBox(1, 1000, 0, 20)), (Lengths{77, 77}));
  EXPECT_EQ(LengthsOf(kHead + IndexBox(3, 10, 0, 20)), (Lengths{77, 77})) << "a track there is not";
  EXPECT_EQ(LengthsOf(IndexBox(1, 10, 0, 20) + kHead), (Lengths{77, 77}))
      << "FFmpeg did not read it";
  EXPECT_EQ(LengthsOf(kHead + Box("moof", "") + IndexBox(1, 10, 0, 20)), (Lengths{77, 77}));
  EXPECT_EQ(LengthsOf(""), (Lengths{77, 77}));
}

TEST(IndexedLengths, GoAsFarAsThePacketsAtLeast) {
  EXPECT_EQ(LengthsOf(kHead + IndexBox(1, 10, 0, 20), 9000), (Lengths{9000, 6000}));
}

TEST(IndexedLengths, BeginWithTheFirstTrack) {
  EXPECT_EQ(MendedOf(kHead + IndexBox(1, 10, 75, 20) + IndexBox(2, 100, 800, 100)).begin, 7.5);
  EXPECT_EQ(MendedOf(kHead + IndexBox(1, 1000, 3'600'000, 20)).begin, 3600) << "of its own ticks";
  EXPECT_EQ(MendedOf(kHead).begin, 0);
}

TEST(IndexedLengths, OfADamagedIndexStay) {
  EXPECT_EQ(LengthsOf(kHead + IndexBox(1, 0, 0, 20)), (Lengths{77, 77}));
  EXPECT_EQ(LengthsOf(kHead + IndexBox(1, 1, UINT64_MAX, UINT32_MAX, true)), (Lengths{77, 77}));
  const std::string index = IndexBox(1, 10, 0, 20);
  EXPECT_EQ(LengthsOf(kHead + index.substr(0, 50)), (Lengths{77, 77})) << "cut off";
  EXPECT_EQ(LengthsOf(kHead + Box("sidx", std::string(24, '\0'))), (Lengths{77, 77}));
  EXPECT_EQ(LengthsOf(kHead + Big(0) + "sidx" + index.substr(8)), (Lengths{77, 77}));
}

}  // namespace
}  // namespace gopmill
