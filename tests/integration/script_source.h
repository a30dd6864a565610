// SPDX-License-Identifier: Apache-2.0
//
// A source that gives the packets it is told to.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "media/cue_packet.h"
#include "media/packet_source.h"
#include "media/source_info.h"

namespace gopmill::test {

using State = PacketSource::ReadState;

inline constexpr Rational kMillis{1, 1000};

struct Step {
  State state = State::kVideo;
  std::int64_t milliseconds = 0;
  int sound = 0;       // or text: which one, from 0
  bool late = false;   // it had to be waited for
  int header = 0;      // that comes with it: one byte
  bool delta = false;  // a picture that needs others
  int bytes = 100;     // of a picture
};

// A publisher that sends what it is told to. `sizes`: bytes of the packets of each track of sound.
class Script final : public PacketSource {
 public:
  Script(const std::vector<std::string>& languages, std::vector<Step> steps,
         std::map<int, int> sizes = {}, const std::string& codec = "h264")
      : steps_(std::move(steps)), sizes_(std::move(sizes)) {
    auto info = std::make_shared<SourceInfo>();
    info->video.codec = codec;
    info->video.time_base = kMillis;
    info->video.fps = {25, 1};
    info->video.parameters = std::shared_ptr<AVCodecParameters>(
        avcodec_parameters_alloc(), [](AVCodecParameters* p) { avcodec_parameters_free(&p); });
    for (const std::string& language : languages) {
      AudioInfo& track = info->audio_tracks.emplace_back();
      track.stream_index = static_cast<int>(info->audio_tracks.size());
      track.codec = "aac";
      track.language = language;
      track.time_base = kMillis;
    }
    for (const char* const language : {"eng", "ger"}) {
      SubtitleTrack& track = info->subtitles.emplace_back();
      track.language = language;
    }
    info->audio = info->audio_tracks.front();
    info->more_audio.assign(info->audio_tracks.begin() + 1, info->audio_tracks.end());
    info_ = std::move(info);
  }
  void RemoveSound() {
    auto info = std::make_shared<SourceInfo>(*info_);
    info->audio.reset();
    info_ = std::move(info);
  }
  // It ends with an error.
  void Break() { broken_ = true; }
  // Its end is not that of what it reads.
  void Truncate() { truncated_ = true; }
  void GoOnWith(std::unique_ptr<PacketSource> next) { successor_ = std::move(next); }
  Result<std::unique_ptr<PacketSource>> Successor() override { return std::move(successor_); }
  const std::shared_ptr<const SourceInfo>& info() const override { return info_; }
  bool counted_pts() const override { return false; }
  std::int64_t start_us() const override { return 0; }
  Status SeekBefore(Rational /*seconds*/) override { return OkStatus(); }
  bool truncated() const override { return truncated_; }
  Result<ReadState> Read(AVPacket& packet) override {
    if (next_ == steps_.size()) {
      if (broken_) return Error{.code = Code::kIo, .message = "It broke."};
      return ReadState::kEnd;
    }
    const Step& step = steps_[next_++];
    // More than the time within which a packet counts as one that was there already.
    if (step.late) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (step.state == State::kText) {
      const SubtitleCue cue{.start_us = 1000 * step.milliseconds, .end_us = kNoEnd, .text = "said"};
      av_packet_move_ref(&packet, MakeCuePacket(cue, step.sound).get());
      return step.state;
    }
    const int size = step.state == State::kVideo ? step.bytes : sizes_[step.sound];
    EXPECT_EQ(av_new_packet(&packet, size), 0);
    packet.pts = packet.dts = step.milliseconds;
    packet.duration = step.state == State::kVideo ? 40 : 20;
    packet.stream_index = step.sound;
    packet.flags = step.delta ? 0 : AV_PKT_FLAG_KEY;
    if (step.header != 0) {
      *av_packet_new_side_data(&packet, AV_PKT_DATA_NEW_EXTRADATA, 1) =
          static_cast<std::uint8_t>(step.header);
    }
    return step.state;
  }

 private:
  std::shared_ptr<const SourceInfo> info_;
  std::vector<Step> steps_;
  std::map<int, int> sizes_;
  std::size_t next_ = 0;
  bool broken_ = false, truncated_ = false;
  std::unique_ptr<PacketSource> successor_;
};

}  // namespace gopmill::test
