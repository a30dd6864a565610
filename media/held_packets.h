// SPDX-License-Identifier: Apache-2.0
//
// The packets of a source that were read ahead of who reads it: to find the first picture that can
// be decoded on its own, when it is opened and behind each seek. In the order in which they come
// out of the container; and what can be told of the source by looking at them.
//
// How much is read ahead is for the caller to bound. Thread-safety: thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "media/av_ptr.h"
#include "media/packet_source.h"
#include "media/source_info.h"

namespace gopmill {

class HeldPackets {
 public:
  using Kind = PacketSource::ReadState;

  [[nodiscard]] bool empty() const { return held_.empty(); }
  [[nodiscard]] std::size_t count() const { return held_.size(); }
  [[nodiscard]] std::int64_t payload() const { return payload_; }  // bytes
  void Clear();
  // Behind the others; never kEnd.
  void Add(Kind kind, av::Packet packet);
  // Drops the pictures, not what comes with them; how many.
  std::int64_t DropPictures();
  // Moves the first one to `packet`. There is one.
  Kind Take(AVPacket& packet);
  // Those that are held, in their order.
  void ForEach(const std::function<void(Kind, const AVPacket&)>& see) const;

  // Null without one. It stays held.
  [[nodiscard]] AVPacket* last() { return held_.empty() ? nullptr : held_.back().packet.get(); }
  [[nodiscard]] const AVPacket* FirstPicture() const;
  // When that is shown, or else decoded: microseconds on the container's clock. None where there is
  // no picture, or no time.
  [[nodiscard]] std::optional<std::int64_t> FirstTime(const VideoInfo& video) const;
  // Whether what is held does not reach back to this place (microseconds), so that a seek has to go
  // further back. A picture without a time is taken to be there.
  [[nodiscard]] bool BeginsBehind(std::int64_t at_us, const VideoInfo& video) const;
  // Whether the first picture, which there is, is one from which on pictures become right after
  // some more (RandomAccess::kRecovery), not at once.
  [[nodiscard]] bool BeginsSlowly(const VideoInfo& video) const;
  // Closed captions, as decoders find them: in messages of H.264 and HEVC, or user data of MPEG-2.
  [[nodiscard]] bool HasCaptions() const;
  // Packets that say that they are encrypted (ISO/IEC 23001-7).
  [[nodiscard]] bool HasEncrypted() const;

 private:
  struct Held {
    Kind kind;
    av::Packet packet;
  };

  std::deque<Held> held_;  // first out in front
  std::int64_t payload_ = 0;
};

// Whether there are closed captions in this picture, or what only fills up their channel.
bool HasCaptionData(const AVPacket& picture);

// Whether decoding can begin at this picture.
bool IsRandomAccess(const AVPacket& packet, const VideoInfo& video);

}  // namespace gopmill
