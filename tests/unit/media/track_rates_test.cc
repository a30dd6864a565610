// SPDX-License-Identifier: Apache-2.0
#include "media/track_rates.h"

#include <gtest/gtest.h>

namespace gopmill {
namespace {

constexpr int kFps = 25;
constexpr int kBytes = 1000;  // of a picture
constexpr std::int64_t kRate = 8LL * kBytes * kFps;

// As a demuxer leaves a movie behind: tracks of so many seconds, with packets of a part of them.
class TrackRatesTest : public ::testing::Test {
 protected:
  explicit TrackRatesTest() : format_(avformat_alloc_context()) {
    format_->iformat = av_find_input_format("mov");
  }
  ~TrackRatesTest() override {
    format_->iformat = nullptr;  // else it is closed as one that was opened
    avformat_free_context(format_);
  }
  AVStream& Add(int known_s, int length_s, int bytes = kBytes, std::int64_t first = 0) {
    AVStream& stream = *avformat_new_stream(format_, nullptr);
    stream.time_base = {1, kFps};
    stream.duration = first + std::int64_t{length_s} * kFps;
    for (int n = 0; n < known_s * kFps; ++n) {
      EXPECT_GE(av_add_index_entry(&stream, n, first + n, bytes, 0, AVINDEX_KEYFRAME), 0);
    }
    // What FFmpeg says where its header had one second.
    stream.codecpar->bit_rate = 8LL * bytes * kFps / length_s;
    return stream;
  }

  AVFormatContext* format_;
};

TEST_F(TrackRatesTest, OfOneFragmentIsThatOfTheFile) {
  AVStream& stream = Add(1, 120);
  format_->bit_rate = 2 * kRate;
  EXPECT_EQ(TrackRates(*format_).Of(stream), 2 * kRate);
}

TEST_F(TrackRatesTest, OfSeveralTracksIsItsShareOfTheFile) {
  AVStream& pictures = Add(1, 120);
  AVStream& sound = Add(1, 120, kBytes / 4);
  format_->bit_rate = 2 * kRate;
  EXPECT_NEAR(static_cast<double>(TrackRates(*format_).Of(pictures)), 1.6 * kRate, 1);
  EXPECT_NEAR(static_cast<double>(TrackRates(*format_).Of(sound)), 0.4 * kRate, 1);
}

// What was cut out of a live stream. FFmpeg gives the time of its end for its length.
TEST_F(TrackRatesTest, TheTimeBeforeAMovieIsNoPartOfItsLength) {
  constexpr std::int64_t kHour = 3600;
  AVStream& pictures = Add(1, 120, kBytes, kHour * kFps);
  AVStream& sound = Add(1, 120, kBytes / 4, kHour * kFps);
  format_->duration = (kHour + 120) * AV_TIME_BASE;
  format_->bit_rate = 5 * kRate * 120 / (kHour + 120);
  const TrackRates rates(*format_, kHour);
  EXPECT_EQ(rates.lead(), kHour * AV_TIME_BASE);
  EXPECT_NEAR(static_cast<double>(rates.file()), 5.0 * kRate, 40);
  EXPECT_NEAR(static_cast<double>(rates.Of(pictures)), 4.0 * kRate, 40);
  EXPECT_NEAR(static_cast<double>(rates.Of(sound)), 1.0 * kRate, 40);
}

TEST_F(TrackRatesTest, OfFragmentsThatHaveAllBeenReadTheTimeBeforeThemIsNoPartEither) {
  Add(120, 120, kBytes, 100 * kFps);
  format_->duration = 220 * AV_TIME_BASE;
  EXPECT_EQ(TrackRates(*format_).lead(), 100 * AV_TIME_BASE);
}

TEST_F(TrackRatesTest, OfMoviesInOnePieceTheLengthIsTheLength) {
  AVStream& stream = Add(120, 120, kBytes, 100 * kFps);
  stream.duration = 120 * kFps;
  stream.codecpar->bit_rate = kRate;
  format_->duration = 120 * AV_TIME_BASE;
  EXPECT_EQ(TrackRates(*format_).lead(), 0);
  EXPECT_EQ(TrackRates(*format_).Of(stream), kRate);
}

// The demuxer's times of what it knows have it in them, the length by the index has not.
TEST_F(TrackRatesTest, AnEditListThatShowsAMovieLateIsNoPartOfItsLength) {
  Add(1, 20, kBytes, 6 * kFps).duration = 20 * kFps;
  format_->duration = 20 * AV_TIME_BASE;
  EXPECT_EQ(TrackRates(*format_, 0).lead(), 0);
}

TEST_F(TrackRatesTest, OfAPipeIsThatOfWhatHasCome) {
  AVStream& stream = Add(2, 120);
  EXPECT_EQ(TrackRates(*format_).Of(stream), kRate);
}

TEST_F(TrackRatesTest, OfAnUnknownLengthIsThatOfWhatHasCome) {
  AVStream& stream = Add(2, 120);
  format_->bit_rate = 1;
  stream.duration = UINT32_MAX;
  EXPECT_EQ(TrackRates(*format_).file(), 0);
  EXPECT_EQ(TrackRates(*format_).Of(stream), kRate);
}

TEST_F(TrackRatesTest, OfWhatProbingHasReadToItsEndIsThatOfAllPackets) {
  AVStream& stream = Add(4, 4, kBytes, 3600 * kFps);
  format_->bit_rate = 2 * kRate;
  EXPECT_EQ(TrackRates(*format_).Of(stream), kRate);
}

TEST_F(TrackRatesTest, IsAsStatedOtherwise) {
  AVStream& stream = Add(4, 4);
  stream.codecpar->bit_rate = kRate + 1;
  EXPECT_EQ(TrackRates(*format_).Of(stream), kRate + 1) << "of all packets";
  AVStream& unknown = Add(0, 4);
  unknown.codecpar->bit_rate = 5;
  EXPECT_EQ(TrackRates(*format_).Of(unknown), 5) << "nothing is known of them";
  unknown.duration = AV_NOPTS_VALUE;
  EXPECT_EQ(TrackRates(*format_).Of(unknown), 5) << "without a length";
  format_->iformat = av_find_input_format("matroska");
  AVStream& other = Add(1, 120);
  other.codecpar->bit_rate = 5;
  EXPECT_EQ(TrackRates(*format_).Of(other), 5)
      << "another container's index has key pictures alone";
}

TEST_F(TrackRatesTest, OfDamagedTimesIsAnyNumber) {
  AVStream& stream = Add(1, 120);
  stream.time_base = {1, INT32_MAX};
  stream.duration = INT64_MAX;
  EXPECT_GE(TrackRates(*format_).Of(stream), 0);
  stream.time_base = {1, 1};
  EXPECT_GE(TrackRates(*format_).Of(stream), 0);
}

}  // namespace
}  // namespace gopmill
