// SPDX-License-Identifier: Apache-2.0
//
// How much the reader behind a client of RTMP has to keep. Messages come in chunks, those of
// different chunk streams in turns (RTMP 1.0, 5.3.1), and FFmpeg (rtmppkt.c) has room for each from
// its first chunk on: up to 16 MiB for each of 65,600 chunk streams, and no option bounds their
// sum. So the client's bytes are looked through on their way, and one that begins too much is not
// heard any further.
//
// Guarantee: a pure function of the bytes, in whatever pieces they come; reads headers as FFmpeg
// does. Own memory: some bytes for each chunk stream. Thread-safety: compatible.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "base/status.h"

namespace gopmill {

// Bytes of messages that have begun and are not whole. Encoders send a picture and some sound in
// turns; one message has at most 16 MiB.
inline constexpr std::size_t kMaxRtmpOpen = std::size_t{32} << 20U;

class RtmpOpenMessages {
 public:
  // What the client sends, from its first byte on. kCorrupt: FFmpeg is not to see these bytes; says
  // why. Not to be called again then.
  Status Take(std::span<const std::uint8_t> bytes);
  [[nodiscard]] std::size_t open_bytes() const { return open_; }

 private:
  struct Stream {
    std::uint32_t time = 0, size = 0, read = 0;
    std::uint32_t number = 0;  // the newest four bytes of its message's payload
    std::uint8_t type = 0;
    bool open = false;  // a message has begun and is not whole
  };
  [[nodiscard]] std::size_t BasicLength() const;
  [[nodiscard]] std::size_t HeaderLength();
  [[nodiscard]] std::uint32_t Number(std::size_t place, std::size_t length) const;
  [[nodiscard]] std::uint32_t StreamId() const;  // of a header whose first bytes are there
  Status EndHeader();
  Status TakePayload(std::span<const std::uint8_t> bytes);
  Status EndChunk();

  std::size_t greeting_ = std::size_t{1} + 1536 + 1536;  // C0, C1, C2: what is left of them
  std::array<std::uint8_t, 18> header_ = {};             // the longest that there is
  std::size_t header_bytes_ = 0;                         // of it, that have come
  std::optional<std::uint32_t> chunk_of_;                // its stream; nothing: a header is read
  std::size_t payload_ = 0;                              // of that chunk, still to come
  std::uint32_t chunk_size_ = 128;                       // 5.4.1
  std::size_t open_ = 0;
  std::map<std::uint32_t, Stream> streams_;  // by chunk stream id; at most 65,600
};

}  // namespace gopmill
