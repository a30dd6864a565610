// SPDX-License-Identifier: Apache-2.0
//
// How a live stream's packets are cut, with those of a real movie.
#include "server/live/live_segmenter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <map>
#include <numeric>

#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

using testing::Each;
using testing::Le;

class Lengths final : public LiveTrackSink {
 public:
  void OnTrack(std::size_t track, SegmentTrack described, const CodedTrack&) override {
    seconds_per_tick_[track] = described.mux.time_base.ToDouble();
  }
  void OnBegin(std::size_t track, LiveSegment) override { seconds[track].push_back(0); }
  void OnPart(std::size_t track, LivePart part) override {
    seconds[track].back() += static_cast<double>(part.ticks) * seconds_per_tick_[track];
  }
  void OnEnd(std::size_t track, std::optional<LivePart> last, LiveKey) override {
    if (last) OnPart(track, *std::move(last));
  }

  std::map<std::size_t, std::vector<double>> seconds;  // of the segments of each track

 private:
  std::map<std::size_t, double> seconds_per_tick_;
};

std::vector<MuxTrack> TracksOf(const SourceInfo& info) {
  return {{.kind = TrackKind::kVideo,
           .parameters = info.video.parameters,
           .time_base = info.video.time_base,
           .frame_rate = info.video.fps},
          {.kind = TrackKind::kAudio,
           .parameters = info.audio->parameters,
           .time_base = info.audio->time_base,
           .frame_rate = {}}};
}

// Cuts a movie as if each of its GOPs were a unit, with a sound track of which everything from
// `pause_begin` on comes at once when `pause_end` has been reached, seconds, and with it what comes
// in the next `burst` ones. `pieces`: as with low delay, where what is there after every two
// pictures goes out.
void CutWithPause(double pause_begin, double pause_end, Lengths& lengths, double burst = 0,
                  bool pieces = false) {
  auto source = OpenMovie("sync-720p.mp4")({});
  ASSERT_TRUE(source.ok());
  const SourceInfo& info = *(*source)->info();
  const auto clock = std::make_shared<LiveClock>();
  clock->OnPicture(0, 0, {}, false);
  const std::int64_t frames = std::llround(info.video.fps.ToDouble());
  const LiveCut cut{.part_frames = frames / 4,
                    .segment_frames = pieces ? 1 : 2 * frames,
                    .longest_frames = 2 * frames};
  auto segmenter = LiveSegmenter::Open(TracksOf(info), cut, clock, lengths);
  ASSERT_TRUE(segmenter.ok()) << segmenter.error().ToString();
  const auto seconds = [&](const AVPacket& sound) {
    return static_cast<double>(sound.pts) * info.audio->time_base.ToDouble();
  };
  std::deque<std::pair<bool, av::Packet>> packets;  // with whether it is a picture
  while (true) {
    av::Packet packet = av::NewPacket();
    const auto state = (*source)->Read(*packet);
    ASSERT_TRUE(state.ok());
    if (*state == PacketSource::ReadState::kEnd) break;
    packets.emplace_back(*state == PacketSource::ReadState::kVideo, std::move(packet));
  }
  std::vector<av::Packet> paused;
  std::int64_t pictures = 0;
  while (!packets.empty()) {
    auto [is_picture, packet] = std::move(packets.front());
    packets.pop_front();
    if (!packet) continue;  // it has come with others
    if (is_picture) {
      const bool key = (packet->flags & AV_PKT_FLAG_KEY) != 0;
      if (key && pictures > 0) {
        ASSERT_TRUE((*segmenter)->EndUnit().ok());
      }
      ++pictures;
      ASSERT_TRUE((*segmenter)->Write(0, std::move(packet)).ok());
      if (pieces && pictures % 2 == 0) {
        ASSERT_TRUE((*segmenter)->EndFragment().ok());
      }
      continue;
    }
    const double at = seconds(*packet);
    if (at >= pause_begin && at < pause_end) {
      paused.push_back(std::move(packet));
      continue;
    }
    paused.push_back(std::move(packet));
    const bool is_late = paused.size() > 1;
    for (auto& [later_picture, later] : packets) {
      if (!is_late || later_picture || !later || seconds(*later) >= pause_end + burst) continue;
      paused.push_back(std::move(later));
    }
    for (av::Packet& sound : std::exchange(paused, {})) {
      ASSERT_TRUE((*segmenter)->Write(1, std::move(sound)).ok());
    }
  }
  ASSERT_TRUE((*segmenter)->Finish().ok());
}

// The pictures of a movie, each of whose GOPs is a unit, and sound of large packets, as much as a
// test wants.
class LargeSound : public testing::Test {
 protected:
  static constexpr std::int64_t kBytes = std::int64_t{8} << 10, kSamples = 1024;
  static constexpr std::int64_t kRoom = std::int64_t{kMaxWaitingSound} / kBytes;  // packets

  void SetUp() override {
    auto source = OpenMovie("sync-720p.mp4")({});
    ASSERT_TRUE(source.ok());
    info_ = (*source)->info();
    while (true) {
      av::Packet packet = av::NewPacket();
      const auto state = (*source)->Read(*packet);
      ASSERT_TRUE(state.ok());
      if (*state == PacketSource::ReadState::kEnd) break;
      if (*state == PacketSource::ReadState::kVideo) pictures_.push_back(std::move(packet));
    }
    const auto clock = std::make_shared<LiveClock>();
    clock->OnPicture(0, 0, {}, false);
    const std::int64_t frames = std::llround(info_->video.fps.ToDouble());
    const LiveCut cut{.part_frames = frames / 4,
                      .segment_frames = 2 * frames,
                      .longest_frames = 2 * frames + frames / 2};
    auto output = LiveSegmenter::Open(TracksOf(*info_), cut, clock, lengths_);
    ASSERT_TRUE(output.ok()) << output.error().ToString();
    segmenter_ = *std::move(output);
  }
  void WritePictures(std::size_t count) {
    for (std::size_t i = 0; i < count && !pictures_.empty(); ++i) {
      if (written_++ > 0 && (pictures_.front()->flags & AV_PKT_FLAG_KEY) != 0) {
        ASSERT_TRUE(segmenter_->EndUnit().ok());
      }
      ASSERT_TRUE(segmenter_->Write(0, std::move(pictures_.front())).ok());
      pictures_.pop_front();
    }
  }
  void WriteSound(std::int64_t count) {
    const Rational packet_time{kSamples, info_->audio->sample_rate};
    for (std::int64_t i = 0; i < count; ++i, ++sounds_) {
      av::Packet packet = av::NewPacket();
      ASSERT_EQ(av_new_packet(packet.get(), static_cast<int>(kBytes)), 0);
      packet->pts = packet->dts = Rescale(sounds_, packet_time, info_->audio->time_base);
      packet->duration = Rescale(1, packet_time, info_->audio->time_base);
      packet->flags = AV_PKT_FLAG_KEY;
      ASSERT_TRUE(segmenter_->Write(1, std::move(packet)).ok());
    }
  }
  double SecondsOfSound() {
    const auto& seconds = lengths_.seconds[1];
    return std::accumulate(seconds.begin(), seconds.end(), 0.0);
  }

  std::shared_ptr<const SourceInfo> info_;
  std::deque<av::Packet> pictures_;
  std::size_t written_ = 0;
  std::int64_t sounds_ = 0;
  Lengths lengths_;
  std::unique_ptr<PacketOutput> segmenter_;
};

// As of a publisher whose camera is gone and whose microphone is not.
TEST_F(LargeSound, WithoutPicturesMakesNoSegmentLonger) {
  WritePictures(30);
  WriteSound(3 * kRoom);
  EXPECT_LE(SecondsOfSound(), 0) << "its pictures are not over";
  ASSERT_TRUE(segmenter_->Finish().ok());
  EXPECT_THAT(lengths_.seconds[1], Each(Le(2.6)));
}

TEST_F(LargeSound, ThatComesBeforeAllPicturesIsBounded) {
  WriteSound(2 * kRoom);
  WritePictures(pictures_.size());
  ASSERT_TRUE(segmenter_->Finish().ok());
  EXPECT_GT(SecondsOfSound(), 1);
  EXPECT_LE(segmenter_->packets_written(1), kRoom);
}

TEST(LiveSegmenter, SoundThatComesBackAfterAPauseFillsOneSegmentAtMost) {
  Lengths lengths;
  CutWithPause(3, 13, lengths);
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_EQ(lengths.seconds[0].size(), lengths.seconds[1].size());
  EXPECT_THAT(lengths.seconds[0], Each(Le(2.5)));
  EXPECT_THAT(lengths.seconds[1], Each(Le(2.6)));
  EXPECT_THAT(lengths.seconds[1], testing::Contains(0)) << "there was a pause";
}

TEST(LiveSegmenter, SoundALittleLateIsNotLost) {
  Lengths at_once, late;
  CutWithPause(0, 0, at_once);
  CutWithPause(3, 4.5, late);
  ASSERT_FALSE(HasFatalFailure());
  const auto sum = [](const std::vector<double>& seconds) {
    return std::accumulate(seconds.begin(), seconds.end(), 0.0);
  };
  EXPECT_NEAR(sum(at_once.seconds[1]), sum(late.seconds[1]), 0.001);
  // As of a publisher that begins with what it had: some for the segment that is over, much for
  // later.
  Lengths burst;
  CutWithPause(3.9, 4.05, burst, 4);
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_NEAR(sum(at_once.seconds[1]), sum(burst.seconds[1]), 0.001);
  // Across a border, where the new segment is a piece long yet.
  Lengths in_pieces;
  CutWithPause(3.4, 4.1, in_pieces, 0, true);
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_NEAR(sum(at_once.seconds[1]), sum(in_pieces.seconds[1]), 0.001);
}

}  // namespace
}  // namespace gopmill::test
