// SPDX-License-Identifier: Apache-2.0
//
// What is kept of an index is all of it, and what is no index is taken for none.
#include "media/index_bytes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "media/subtitle_bitmaps.h"

namespace gopmill {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

std::shared_ptr<const SourceInfo> WithSound() {
  auto info = std::make_shared<SourceInfo>();
  info->audio.emplace();
  return info;
}

// Every field has a value of its own, and the extremes are among them.
SourceIndex Sample() {
  SourceIndex index;
  index.audio_track = 3;
  index.counted_pts = index.truncated = true;
  index.video_end = -7;
  index.left_out = 2;
  index.video = {
      {.pts = 100,
       .packet_pts = kLeast,  // AV_NOPTS_VALUE
       .dts = -5,
       .seek_us = 40'000,
       .fingerprint = ~std::uint64_t{0},
       .bytes = 70'000,
       .access = RandomAccess::kClosed},
      {.pts = kMost, .packet_pts = kMost, .dts = kLeast, .seek_us = -1, .hidden = true},
      {.pts = kLeast, .packet_pts = 12, .dts = kMost, .access = RandomAccess::kRecovery}};
  index.audio = {{.position = kMost, .seek_us = kLeast, .fingerprint = 5, .samples = 1, .bytes = 2},
                 {.position = -1, .seek_us = 3, .fingerprint = 6, .samples = 1'024, .bytes = 371}};
  SubtitleTrack track;
  track.codec = "subrip";
  track.language = "deu";
  track.title = "Ä";
  track.forced = track.incomplete = true;
  track.roles = 5;
  track.form = CueForm::kScript;
  track.header = "[Script Info]";
  track.cues = {{.start_us = 1, .end_us = 2, .text = "eins"},
                {.start_us = 1, .end_us = -4, .text = ""}};
  SubtitleTrack other;
  other.stream_index = 4;
  other.is_default = true;
  index.subtitles = {track, other};
  return index;
}

void ExpectSame(const SourceIndex& a, const SourceIndex& b) {
  EXPECT_EQ(a.audio_track, b.audio_track);
  EXPECT_EQ(a.counted_pts, b.counted_pts);
  EXPECT_EQ(a.truncated, b.truncated);
  EXPECT_EQ(a.video_end, b.video_end);
  EXPECT_EQ(a.left_out, b.left_out);
  EXPECT_TRUE(a.video == b.video);
  EXPECT_TRUE(a.audio == b.audio);
  EXPECT_TRUE(a.subtitles == b.subtitles);
}

TEST(IndexBytesTest, TakeBackWhatTheyWereMadeOf) {
  const SourceIndex index = Sample();
  const auto bytes = IndexBytes(index);
  ASSERT_TRUE(bytes.has_value());
  const auto info = WithSound();
  const auto back = ParseIndexBytes(*bytes, info);
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(back->source, info);
  ExpectSame(*back, index);
}

TEST(IndexBytesTest, NothingIsKeptOfWhatTheyCannotSay) {
  SourceIndex coded = Sample();
  coded.codings.push_back({.first_packet = 1, .coded = WithSound()});
  EXPECT_FALSE(IndexBytes(coded).has_value());
  SourceIndex drawn = Sample();
  drawn.subtitles.front().bitmaps = std::make_shared<const SubtitleBitmaps>();
  EXPECT_FALSE(IndexBytes(drawn).has_value());
}

TEST(IndexBytesTest, NoPartIsAWhole) {
  const std::string bytes = IndexBytes(Sample()).value();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(ParseIndexBytes(bytes.substr(0, size), WithSound()), nullptr) << size;
  }
  EXPECT_EQ(ParseIndexBytes(bytes + '\0', WithSound()), nullptr);
}

TEST(IndexBytesTest, SoundNeedsASourceThatHasSome) {
  const std::string bytes = IndexBytes(Sample()).value();
  EXPECT_EQ(ParseIndexBytes(bytes, std::make_shared<SourceInfo>()), nullptr);
}

TEST(IndexBytesTest, AnIndexWithoutPicturesIsNone) {
  SourceIndex index = Sample();
  index.video.clear();
  EXPECT_EQ(ParseIndexBytes(IndexBytes(index).value(), WithSound()), nullptr);
}

// No count is believed that the bytes behind it cannot bear.
TEST(IndexBytesTest, HugeCountsTakeNoMemory) {
  std::string bytes = IndexBytes(SourceIndex{}).value();
  const std::string most = "\xff\xff\xff\xff\xff\xff\xff\xff\x7f";
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string spoilt = bytes;
    spoilt.replace(at, 1, most);
    EXPECT_EQ(ParseIndexBytes(spoilt, WithSound()), nullptr) << at;
  }
}

}  // namespace
}  // namespace gopmill
