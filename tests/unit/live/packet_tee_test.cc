// SPDX-License-Identifier: Apache-2.0
#include "server/live/packet_tee.h"

#include <gtest/gtest.h>

extern "C" {
#include <libavutil/mem.h>
}

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "media/cue_packet.h"

namespace gopmill {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kMillis = 1'000'000;

// 25 pictures a second, as many as the test wants; then the end.
class CountingSource final : public PacketSource {
 public:
  CountingSource(int count, std::atomic<int>& read) : count_(count), read_(read) {
    auto info = std::make_shared<SourceInfo>();
    info->video.time_base = {1, 25};
    info_ = std::move(info);
  }
  const std::shared_ptr<const SourceInfo>& info() const override { return info_; }
  bool counted_pts() const override { return false; }
  std::int64_t start_us() const override { return 0; }
  Status SeekBefore(Rational /*seconds*/) override { return OkStatus(); }
  bool truncated() const override { return false; }
  Result<ReadState> Read(AVPacket& packet) override {
    if (read_ == count_) return ReadState::kEnd;
    packet.pts = packet.dts = read_++;
    packet.duration = 1;
    return ReadState::kVideo;
  }

 private:
  const int count_;
  std::atomic<int>& read_;
  std::shared_ptr<const SourceInfo> info_;
};

std::shared_ptr<PacketTee> Tee(int count, std::size_t streams, std::atomic<int>& read) {
  return std::make_shared<PacketTee>(
      [count, &read](const std::stop_token&) -> Result<std::unique_ptr<PacketSource>> {
        return std::unique_ptr<PacketSource>(std::make_unique<CountingSource>(count, read));
      },
      streams, std::make_shared<LiveClock>());
}

// Reads to the end; how many packets came, -1 if they were not those that there are.
int ReadAll(PacketSource& source) {
  for (int n = 0;; ++n) {
    const av::Packet packet = av::NewPacket();
    const auto state = source.Read(*packet);
    if (!state.ok()) return -1;
    if (*state == PacketSource::ReadState::kEnd) return n;
    if (packet->dts != n) return -1;
  }
}

TEST(PacketTeeTest, AllStreamsGetTheSame) {
  std::atomic<int> read = 0;
  const auto tee = Tee(2000, 3, read);
  std::array<int, 3> counts{};
  {
    std::vector<std::jthread> streams;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      streams.emplace_back([&, i] {
        const auto source = tee->Open(i, {});
        counts[i] = source.ok() ? ReadAll(**source) : -1;
      });
    }
  }
  EXPECT_EQ(counts, (std::array<int, 3>{2000, 2000, 2000}));
}

// A cue before each tenth picture.
class SpeakingSource final : public PacketSource {
 public:
  explicit SpeakingSource(std::atomic<int>& read) : pictures_(100, read) {}
  const std::shared_ptr<const SourceInfo>& info() const override { return pictures_.info(); }
  bool counted_pts() const override { return false; }
  std::int64_t start_us() const override { return 0; }
  Status SeekBefore(Rational /*seconds*/) override { return OkStatus(); }
  bool truncated() const override { return false; }
  Result<ReadState> Read(AVPacket& packet) override {
    if (reads_++ % 11 != 0) return pictures_.Read(packet);
    const SubtitleCue cue{.start_us = reads_, .end_us = kNoEnd, .text = "said"};
    av_packet_move_ref(&packet, MakeCuePacket(cue, 1).get());
    return ReadState::kText;
  }
  const Arrival* arrival() const override { return &arrival_; }

 private:
  const Arrival arrival_{.publisher = 7};
  CountingSource pictures_;
  int reads_ = 0;
};

TEST(PacketTeeTest, TextGoesAnotherWay) {
  std::atomic<int> read = 0;
  std::vector<std::int64_t> said;
  const auto tee = std::make_shared<PacketTee>(
      [&read](const std::stop_token&) -> Result<std::unique_ptr<PacketSource>> {
        return std::unique_ptr<PacketSource>(std::make_unique<SpeakingSource>(read));
      },
      1, std::make_shared<LiveClock>(),
      [&said](std::size_t track, const SubtitleCue& cue, std::int64_t publisher) {
        EXPECT_EQ(track, 1U);
        EXPECT_EQ(publisher, 7);
        EXPECT_EQ(cue.text, "said");
        said.push_back(cue.start_us);
      });
  const auto source = tee->Open(0, {});
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(ReadAll(**source), 100);
  EXPECT_EQ(said.size(), 11U);
  EXPECT_TRUE(std::ranges::is_sorted(said));
}

TEST(PacketTeeTest, TheFastWaitForTheSlowAndNotForThoseWhoHaveLeft) {
  std::atomic<int> read = 0;
  const auto tee = Tee(2000, 2, read);
  auto slow = tee->Open(1, {});
  ASSERT_TRUE(slow.ok());
  int count = 0;
  std::jthread fast([&] {
    const auto source = tee->Open(0, {});
    count = source.ok() ? ReadAll(**source) : -1;
  });
  while (read < 26) std::this_thread::yield();
  const av::Packet packet = av::NewPacket();
  ASSERT_TRUE((*slow)->Read(*packet).ok());
  EXPECT_LE(read, 30) << "more than a second ahead";
  slow->reset();  // it leaves
  fast.join();
  EXPECT_EQ(count, 2000);
}

// A picture without its bytes would go on as if it were one.
TEST(PacketTeeDeathTest, WithoutMemoryThereIsNoPacket) {
  std::atomic<int> read = 0;
  const auto tee = Tee(2000, 2, read);
  const auto first = tee->Open(0, {}), second = tee->Open(1, {});
  ASSERT_TRUE(first.ok() && second.ok());
  const av::Packet packet = av::NewPacket();
  ASSERT_TRUE((*first)->Read(*packet).ok());
  const auto read_without_memory = [&] {
    av_max_alloc(1);
    av_packet_unref(packet.get());
    static_cast<void>((*second)->Read(*packet));
  };
  EXPECT_DEATH(read_without_memory(), "");
}

TEST(PacketTeeTest, AStreamThatWaitsCanBeStopped) {
  std::atomic<int> read = 0;
  const auto tee = Tee(2000, 2, read);
  std::stop_source stop;
  const auto source = tee->Open(0, stop.get_token());
  ASSERT_TRUE(source.ok());
  std::jthread stopper([&] {
    while (read < 26) std::this_thread::yield();
    stop.request_stop();
  });
  EXPECT_EQ(ReadAll(**source), -1) << "the other stream has not even begun";
}

}  // namespace
}  // namespace gopmill
