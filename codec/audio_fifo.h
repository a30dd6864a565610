// SPDX-License-Identifier: Apache-2.0
//
// Samples on their way to the encoder, each with its place on the output clock (sample 0 = output
// time 0). Cuts what lies before 0 and after the limit, and what overlaps what is already there.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace gopmill {

class AudioFifo {
 public:
  // `limit`: the position at which the output ends.
  AudioFifo(int channels, std::optional<std::int64_t> limit);

  // What is appended next belongs at `position`. Returns how many samples are missing until there;
  // the caller fills them with AppendSilence. An overlap will be cut from what comes.
  std::int64_t Seek(std::int64_t position);
  // `planes`: one array of `count` samples per channel.
  void Append(const float* const* planes, std::int64_t count);
  void AppendSilence(std::int64_t count);

  [[nodiscard]] std::int64_t size() const { return end_ - begin_; }
  // Position of the first sample waiting; meaningful when size() > 0.
  [[nodiscard]] std::int64_t position() const { return begin_; }
  [[nodiscard]] bool started() const { return started_; }  // Seek has been called
  // Whether the limit is reached: nothing more will be kept.
  [[nodiscard]] bool full() const { return started_ && limit_ && end_ >= *limit_; }
  // Takes `count` <= size() samples of channel `channel` into `to`, `stride` apart; Drop follows.
  void Copy(int channel, std::int64_t count, float* to, int stride) const;
  void Drop(std::int64_t count);

 private:
  std::vector<std::vector<float>> channels_;
  std::size_t head_ = 0;  // index of the first sample waiting, in every channel
  std::int64_t begin_ = 0, end_ = 0;
  std::int64_t skip_ = 0;  // samples to cut from what comes next
  std::optional<std::int64_t> limit_;
  bool started_ = false;
};

}  // namespace gopmill
