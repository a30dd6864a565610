// SPDX-License-Identifier: Apache-2.0
//
// A source's packets as its container has them, with what the container leaves to be told: when
// pictures of AVI are shown (AviOrder), and which long steps of times are meant (LongSteps).
//
// Thread-safety: thread-compatible.
#pragma once

#include <optional>
#include <stop_token>

#include "base/status.h"
#include "media/av_ptr.h"
#include "media/avi_order.h"
#include "media/long_steps.h"
#include "media/source_info.h"

namespace gopmill {

// The number of the sound track that is this stream of the file.
std::optional<int> SoundOf(const SourceInfo& info, int stream);

class SourcePackets {
 public:
  // `lacks_pts`: the container tells no times of showing. Nothing is told of a live source.
  void Begin(const AVFormatContext& format, const SourceInfo& info, bool live, bool lacks_pts);
  // What is read next comes from another place, or from a format that was opened anew.
  void Restart(const AVFormatContext& format, const SourceInfo& info);
  // Whether the times of pictures are told that the container lacks: once one has been read.
  [[nodiscard]] bool tells_pts() const { return order_.on(); }

  // The next packet and 0, or a negative code of FFmpeg's. kCancelled at `stop`; LeftBehindError,
  // and then `format` is null, where FFmpeg failed an assertion of its own.
  Result<int> Read(av::InputFormat& format, const std::stop_token& stop, AVPacket& packet);

 private:
  static Result<int> ReadOne(av::InputFormat& format, AVPacket& packet);
  Result<int> ReadOrdered(av::InputFormat& format, AVPacket& packet);
  Result<int> ReadOn(av::InputFormat& format, const std::stop_token& stop, AVPacket& packet);

  bool has_clock_ = false;  // its times are the container's own
  AviOrder order_;
  std::optional<LongSteps> steps_;  // of one that has
};

}  // namespace gopmill
