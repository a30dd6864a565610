// SPDX-License-Identifier: Apache-2.0
#include "codec/audio_fifo.h"

#include <algorithm>

#include "base/status.h"

namespace gopmill {

AudioFifo::AudioFifo(int channels, std::optional<std::int64_t> limit)
    : channels_(static_cast<std::size_t>(channels)), limit_(limit) {}

std::int64_t AudioFifo::Seek(std::int64_t position) {
  if (!started_) {
    // Late audio starts late; nothing is invented in front of it.
    begin_ = end_ = std::max<std::int64_t>(position, 0);
    started_ = true;
  }
  skip_ = std::max<std::int64_t>(end_ - position, 0);
  std::int64_t missing = std::max<std::int64_t>(position - end_, 0);
  if (limit_) missing = std::min(missing, std::max<std::int64_t>(*limit_ - end_, 0));
  return missing;
}

void AudioFifo::Append(const float* const* planes, std::int64_t count) {
  const std::int64_t cut = std::min(skip_, count);
  skip_ -= cut;
  std::int64_t kept = count - cut;
  if (limit_) kept = std::clamp<std::int64_t>(*limit_ - end_, 0, kept);
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    channels_[i].insert(channels_[i].end(), planes[i] + cut, planes[i] + cut + kept);
  }
  end_ += kept;
}

void AudioFifo::AppendSilence(std::int64_t count) {
  for (auto& channel : channels_) {
    channel.insert(channel.end(), static_cast<std::size_t>(count), 0.0F);
  }
  end_ += count;
}

void AudioFifo::Copy(int channel, std::int64_t count, float* to, int stride) const {
  GOPMILL_CHECK(count <= size());
  const float* from = channels_[static_cast<std::size_t>(channel)].data() + head_;
  for (std::int64_t i = 0; i < count; ++i) to[i * stride] = from[i];
}

void AudioFifo::Drop(std::int64_t count) {
  GOPMILL_CHECK(count <= size());
  head_ += static_cast<std::size_t>(count);
  begin_ += count;
  if (2 * head_ < channels_[0].size()) return;  // moves each sample at most once on average
  for (auto& channel : channels_) {
    channel.erase(channel.begin(), channel.begin() + static_cast<std::ptrdiff_t>(head_));
  }
  head_ = 0;
}

}  // namespace gopmill
