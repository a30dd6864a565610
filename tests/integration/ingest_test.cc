// SPDX-License-Identifier: Apache-2.0
//
// When a part of a source has been read.
#include "media/ingest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

// A movie whose sound stops after a second, though its track goes on for ever.
class SoundStops final : public PacketSource {
 public:
  explicit SoundStops(std::unique_ptr<PacketSource> movie) : movie_(std::move(movie)) {}
  const std::shared_ptr<const SourceInfo>& info() const override { return movie_->info(); }
  bool counted_pts() const override { return movie_->counted_pts(); }
  std::int64_t start_us() const override { return movie_->start_us(); }
  Status SeekBefore(Rational seconds) override { return movie_->SeekBefore(seconds); }
  bool truncated() const override { return false; }
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

 private:
  std::unique_ptr<PacketSource> movie_;
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

}  // namespace
}  // namespace gopmill::test
