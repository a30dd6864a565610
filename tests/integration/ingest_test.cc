// SPDX-License-Identifier: Apache-2.0
//
// When a part of a source has been read.
#include "media/ingest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <variant>

#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

// A movie whose packets a test alters.
class Altered : public PacketSource {
 public:
  explicit Altered(std::unique_ptr<PacketSource> movie) : movie_(std::move(movie)) {}
  const std::shared_ptr<const SourceInfo>& info() const override { return movie_->info(); }
  bool counted_pts() const override { return movie_->counted_pts(); }
  std::int64_t start_us() const override { return movie_->start_us(); }
  Status SeekBefore(Rational seconds) override { return movie_->SeekBefore(seconds); }
  bool truncated() const override { return false; }

 protected:
  std::unique_ptr<PacketSource> movie_;
};

// A movie whose sound stops after a second, though its track goes on for ever.
class SoundStops final : public Altered {
 public:
  using Altered::Altered;
  Result<ReadState> Read(AVPacket& packet) override {
    while (true) {
      av_packet_unref(&packet);
      GOPMILL_ASSIGN_OR_RETURN(const auto state, movie_->Read(packet));
      if (state == ReadState::kVideo) {
        read_until = static_cast<double>(packet.dts) * info()->video.time_base.ToDouble();
      }
      const double sound = static_cast<double>(packet.pts) * info()->audio->time_base.ToDouble();
      if (state != ReadState::kAudio || sound < 1) return state;
    }
  }

  double read_until = 0;
};

TEST(Ingest, APartEndsEvenWhereItsSoundHasStopped) {
  auto movie = OpenMovie("sync-720p.mp4")({});  // 20 s
  ASSERT_TRUE(movie.ok());
  auto stops = std::make_unique<SoundStops>(*std::move(movie));
  const SoundStops& read = *stops;
  auto ingest = Ingest::Open(std::move(stops), Request("width=320 duration=2"));
  ASSERT_TRUE(ingest.ok()) << ingest.error().ToString();
  UnitsOf(**ingest);
  EXPECT_NEAR(read.read_until, 2 + kMaxGapSeconds, 0.5);
}

// A recording whose second GOP begins, breaks off at once, and comes once more behind the first.
class BeginsTwice final : public Altered {
 public:
  using Altered::Altered;
  Result<ReadState> Read(AVPacket& packet) override {
    if (!key_) GOPMILL_RETURN_IF_ERROR(ReadAhead());
    av_packet_unref(&packet);
    if (!key_given_) {
      key_given_ = true;
      av_packet_ref(&packet, key_.get());
      return ReadState::kVideo;
    }
    if (ahead_.empty()) return movie_->Read(packet);
    av_packet_move_ref(&packet, ahead_.front().get());
    ahead_.pop_front();
    return ReadState::kVideo;
  }

  std::int64_t in_first_gop = 0;

 private:
  Status ReadAhead() {
    while (true) {
      av::Packet packet = av::NewPacket();
      GOPMILL_ASSIGN_OR_RETURN(const auto state, movie_->Read(*packet));
      if (state != ReadState::kVideo) continue;
      const bool is_key = (packet->flags & AV_PKT_FLAG_KEY) != 0;
      if (is_key && !ahead_.empty()) key_ = av::Ref(*packet);
      ahead_.push_back(std::move(packet));
      if (key_) break;
      ++in_first_gop;
    }
    return OkStatus();
  }

  av::Packet key_;
  bool key_given_ = false;
  std::deque<av::Packet> ahead_;
};

EndOfSource EndOf(Ingest& ingest) {
  while (true) {
    auto item = ingest.Next();
    EXPECT_TRUE(item.ok()) << item.error().ToString();
    if (!item.ok()) return {};
    if (const auto* end = std::get_if<EndOfSource>(&*item)) return *end;
  }
}

TEST(Ingest, PicturesToBeShownBeforeTheFirstAreLeftOutAndCounted) {
  auto movie = OpenMovie("sync-720p.mp4")({});
  ASSERT_TRUE(movie.ok());
  auto twice = std::make_unique<BeginsTwice>(*std::move(movie));
  const BeginsTwice& source = *twice;
  auto ingest = Ingest::Open(std::move(twice), Request("width=320 acodec=none"));
  ASSERT_TRUE(ingest.ok()) << ingest.error().ToString();
  // And the picture that broke off: what comes at its time is another one.
  EXPECT_EQ(EndOf(**ingest).left_out, source.in_first_gop + 1);
  EXPECT_GT(source.in_first_gop, 0);
}

TEST(Ingest, TheFirstPictureTellsWhichX264ItIsOf) {
  auto movie = OpenMovie("sync-720p.mp4")({});
  ASSERT_TRUE(movie.ok());
  EXPECT_GT((*movie)->info()->video.x264_build, 100);
  auto other = OpenMovie("ref-talk.mpg")({});
  ASSERT_TRUE(other.ok());
  EXPECT_EQ((*other)->info()->video.x264_build, -1);
}

TEST(Ingest, WhatIsBeforeTheBeginningAskedForIsNotLeftOut) {
  auto movie = OpenMovie("sync-720p.mp4")({});
  ASSERT_TRUE(movie.ok());
  auto ingest = Ingest::Open(*std::move(movie), Request("width=320 acodec=none start=7"));
  ASSERT_TRUE(ingest.ok()) << ingest.error().ToString();
  EXPECT_EQ(EndOf(**ingest).left_out, 0);
}

}  // namespace
}  // namespace gopmill::test
