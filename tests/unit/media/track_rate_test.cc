// SPDX-License-Identifier: Apache-2.0
#include "media/track_rate.h"

#include <gtest/gtest.h>

namespace gopmill {
namespace {

constexpr int kFps = 25;
constexpr int kBytes = 1000;  // of a picture
constexpr std::int64_t kRate = 8LL * kBytes * kFps;

// As a demuxer leaves a movie behind: tracks of so many seconds, with packets of a part of them.
class TrackRateTest : public ::testing::Test {
 protected:
  explicit TrackRateTest() : format_(avformat_alloc_context()) {
    format_->iformat = av_find_input_format("mov");
  }
  ~TrackRateTest() override {
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

TEST_F(TrackRateTest, OfOneFragmentIsThatOfTheFile) {
  AVStream& stream = Add(1, 120);
  format_->bit_rate = 2 * kRate;
  EXPECT_EQ(TrackRate(*format_, stream), 2 * kRate);
}

TEST_F(TrackRateTest, OfSeveralTracksIsItsShareOfTheFile) {
  AVStream& pictures = Add(1, 120);
  AVStream& sound = Add(1, 120, kBytes / 4);
  format_->bit_rate = 2 * kRate;
  EXPECT_NEAR(static_cast<double>(TrackRate(*format_, pictures)), 1.6 * kRate, 1);
  EXPECT_NEAR(static_cast<double>(TrackRate(*format_, sound)), 0.4 * kRate, 1);
}

TEST_F(TrackRateTest, OfAPipeIsThatOfWhatHasCome) {
  AVStream& stream = Add(2, 120);
  EXPECT_EQ(TrackRate(*format_, stream), kRate);
}

TEST_F(TrackRateTest, OfAnUnknownLengthIsThatOfWhatHasCome) {
  AVStream& stream = Add(2, 120);
  format_->bit_rate = 1;
  stream.duration = UINT32_MAX;
  EXPECT_EQ(FileRate(*format_), 0);
  EXPECT_EQ(TrackRate(*format_, stream), kRate);
}

TEST_F(TrackRateTest, OfWhatProbingHasReadToItsEndIsThatOfAllPackets) {
  AVStream& stream = Add(4, 4, kBytes, 3600 * kFps);
  format_->bit_rate = 2 * kRate;
  EXPECT_EQ(TrackRate(*format_, stream), kRate);
}

TEST_F(TrackRateTest, IsAsStatedOtherwise) {
  AVStream& stream = Add(4, 4);
  stream.codecpar->bit_rate = kRate + 1;
  EXPECT_EQ(TrackRate(*format_, stream), kRate + 1) << "of all packets";
  AVStream& unknown = Add(0, 4);
  unknown.codecpar->bit_rate = 5;
  EXPECT_EQ(TrackRate(*format_, unknown), 5) << "nothing is known of them";
  unknown.duration = AV_NOPTS_VALUE;
  EXPECT_EQ(TrackRate(*format_, unknown), 5) << "without a length";
  format_->iformat = av_find_input_format("matroska");
  AVStream& other = Add(1, 120);
  other.codecpar->bit_rate = 5;
  EXPECT_EQ(TrackRate(*format_, other), 5) << "another container's index has key pictures alone";
}

TEST_F(TrackRateTest, OfDamagedTimesIsAnyNumber) {
  AVStream& stream = Add(1, 120);
  stream.time_base = {1, INT32_MAX};
  stream.duration = INT64_MAX;
  EXPECT_GE(TrackRate(*format_, stream), 0);
  stream.time_base = {1, 1};
  EXPECT_GE(TrackRate(*format_, stream), 0);
}

}  // namespace
}  // namespace gopmill
