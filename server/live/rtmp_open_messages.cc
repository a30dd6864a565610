// SPDX-License-Identifier: Apache-2.0
#include "server/live/rtmp_open_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gopmill {
namespace {

// Of the message header, by the two bits in front of it (5.3.1.2): time, length and type, message
// stream; without what is as in the message before.
constexpr std::array<std::size_t, 4> kMessageHeader{11, 7, 3, 0};
constexpr std::size_t kTime = 3, kExtendedTime = 4;
constexpr std::uint32_t kTimeIsExtended = 0xFFFFFF;  // 5.3.1.3
constexpr std::uint8_t kSetChunkSize = 1;            // 5.4.1

Error Refused(std::string why) { return {.code = Code::kCorrupt, .message = std::move(why)}; }

}  // namespace

Status RtmpOpenMessages::Take(std::span<const std::uint8_t> bytes) {
  const std::size_t greeting = std::min(greeting_, bytes.size());
  greeting_ -= greeting;
  bytes = bytes.subspan(greeting);
  while (!bytes.empty()) {
    if (chunk_of_) {
      const auto payload = bytes.first(std::min(payload_, bytes.size()));
      bytes = bytes.subspan(payload.size());
      GOPMILL_RETURN_IF_ERROR(TakePayload(payload));
      continue;
    }
    header_.at(header_bytes_++) = bytes.front();
    bytes = bytes.subspan(1);
    if (header_bytes_ < HeaderLength()) continue;
    GOPMILL_RETURN_IF_ERROR(EndHeader());
  }
  return OkStatus();
}

// 5.3.1.1: the stream's id is in the first byte, or in one or two behind it.
std::size_t RtmpOpenMessages::BasicLength() const {
  const int id = header_[0] & 0x3F;
  return id < 2 ? static_cast<std::size_t>(id) + 2 : 1;
}

// As far as it is known.
std::size_t RtmpOpenMessages::HeaderLength() {
  const std::size_t basic = BasicLength(), message = kMessageHeader[header_[0] >> 6U];
  if (header_bytes_ < basic + message) return basic + message;
  const std::uint32_t time = message > 0 ? Number(basic, kTime) : streams_[StreamId()].time;
  return basic + message + (time == kTimeIsExtended ? kExtendedTime : 0);
}

std::uint32_t RtmpOpenMessages::Number(std::size_t place, std::size_t length) const {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < length; ++i) number = number << 8U | header_.at(place + i);
  return number;
}

std::uint32_t RtmpOpenMessages::StreamId() const {
  const std::uint32_t id = header_[0] & 0x3FU;
  return id < 2 ? header_[1] + (id == 1 ? header_[2] * 256U : 0) + 64 : id;
}

Status RtmpOpenMessages::EndHeader() {
  const std::size_t basic = BasicLength(), message = kMessageHeader[header_[0] >> 6U];
  Stream& stream = streams_[StreamId()];
  const bool has_kind = message > kTime;
  const std::uint32_t size = has_kind ? Number(basic + kTime, 3) : stream.size;
  const std::uint8_t type = has_kind ? header_.at(basic + kTime + 3) : stream.type;
  if (stream.open && (size != stream.size || type != stream.type)) {
    return Refused("A message changes its length or type.");
  }
  if (!stream.open) {
    const std::uint32_t time = message > 0 ? Number(basic, kTime) : stream.time;
    stream = {.time = time, .size = size, .type = type, .open = true};
    open_ += size;
    if (open_ > kMaxRtmpOpen) {
      return Refused(fmt::format("Messages of more than {} MiB have begun and are not whole.",
                                 kMaxRtmpOpen >> 20U));
    }
  }
  chunk_of_ = StreamId();
  payload_ = std::min(stream.size - stream.read, chunk_size_);
  header_bytes_ = 0;
  return payload_ == 0 ? EndChunk() : OkStatus();
}

Status RtmpOpenMessages::TakePayload(std::span<const std::uint8_t> bytes) {
  Stream& stream = streams_[*chunk_of_];
  for (const std::uint8_t byte : bytes.last(std::min<std::size_t>(bytes.size(), 4))) {
    stream.number = stream.number << 8U | byte;
  }
  stream.read += static_cast<std::uint32_t>(bytes.size());
  payload_ -= bytes.size();
  return payload_ == 0 ? EndChunk() : OkStatus();
}

Status RtmpOpenMessages::EndChunk() {
  Stream& stream = streams_[*chunk_of_];
  chunk_of_.reset();
  if (stream.read < stream.size) return OkStatus();
  stream.open = false;
  open_ -= stream.size;
  if (stream.type != kSetChunkSize) return OkStatus();
  if (stream.size != 4 || stream.number == 0 || stream.number > INT32_MAX) {
    return Refused("This is no length of a chunk.");
  }
  chunk_size_ = stream.number;
  return OkStatus();
}

}  // namespace gopmill
