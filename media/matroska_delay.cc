// SPDX-License-Identifier: Apache-2.0
#include "media/matroska_delay.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "media/av_error.h"
#include "media/av_ptr.h"
#include "media/mux_options.h"

namespace gopmill {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr int kPayload = 8;
// Element ids of the Matroska specification.
constexpr std::array<std::uint8_t, 2> kCodecDelay{0x56, 0xAA};
constexpr std::array<std::uint8_t, 4> kCluster{0x1F, 0x43, 0xB6, 0x75};
constexpr std::uint8_t kTimestamp = 0xE7;
// A SimpleBlock of track 1: its size counts track, time (2 bytes), flags and payload.
constexpr std::array<std::uint8_t, 3> kBlock{0xA3, 0x80 | (4 + kPayload), 0x81};

template <std::size_t N>
std::optional<std::size_t> Find(Bytes bytes, const std::array<std::uint8_t, N>& pattern,
                                std::size_t from) {
  const auto at = std::search(bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes.end(),
                              pattern.begin(), pattern.end());
  if (at == bytes.end()) return std::nullopt;
  return static_cast<std::size_t>(at - bytes.begin());
}

// A file in memory with one packet at time 0.
Result<int> WriteProbe(const AVCodecParameters& parameters, std::uint8_t** bytes) {
  GOPMILL_ASSIGN_OR_RETURN(const OutputFormat context, NewOutputFormat(Container::kMkv));
  AVStream* stream = avformat_new_stream(context.get(), nullptr);
  int result =
      stream == nullptr ? AVERROR(ENOMEM) : avcodec_parameters_copy(stream->codecpar, &parameters);
  if (result < 0) return av::AvError("The track cannot be described", result);
  stream->codecpar->codec_tag = 0;
  result = avio_open_dyn_buf(&context->pb);
  if (result < 0) return av::AvError("The track cannot be described", result);
  const av::Packet packet = av::NewPacket();
  result = avformat_write_header(context.get(), nullptr);
  if (result >= 0) result = av_new_packet(packet.get(), kPayload);
  if (result >= 0) {
    std::fill_n(packet->data, kPayload, std::uint8_t{0});
    packet->pts = packet->dts = 0;
    packet->flags = AV_PKT_FLAG_KEY;
    result = av_write_frame(context.get(), packet.get());
  }
  if (result >= 0) result = av_write_trailer(context.get());
  const int size = avio_close_dyn_buf(context->pb, bytes);
  context->pb = nullptr;
  if (result < 0) return av::AvError("The container cannot hold the audio track", result);
  return size;
}

// The time of the packet: that of its cluster plus its own, both in milliseconds.
std::optional<std::int64_t> BlockTime(Bytes file) {
  const auto cluster = Find(file, kCluster, 0);
  if (!cluster) return std::nullopt;
  const std::array<std::uint8_t, 1> id{kTimestamp};
  const auto time = Find(file, id, *cluster + kCluster.size());
  const auto block = time ? Find(file, kBlock, *time) : std::nullopt;
  if (!block || *block + 5 > file.size()) return std::nullopt;
  std::int64_t value = 0;
  const std::size_t length = file[*time + 1] & 0x7FU;
  for (std::size_t i = 0; i < length; ++i) value = value << 8 | file[*time + 2 + i];
  const auto relative = static_cast<std::int16_t>(file[*block + 3] << 8 | file[*block + 4]);
  return value + relative;
}

}  // namespace

Status AskMatroskaDelay(const AVCodecParameters& parameters, MatroskaDelay& delay) {
  std::uint8_t* bytes = nullptr;
  const Result<int> size = WriteProbe(parameters, &bytes);
  const std::unique_ptr<std::uint8_t, void (*)(std::uint8_t*)> owner(
      bytes, [](std::uint8_t* p) { av_free(p); });
  if (!size.ok()) return size.error();
  const Bytes file(bytes, static_cast<std::size_t>(*size));
  const auto time = BlockTime(file);
  if (!time) return InternalError("The container's treatment of audio delay is not understood.");
  const auto element = Find(file, kCodecDelay, 0);
  delay.written = element && *element < *Find(file, kCluster, 0);
  delay.added_ms = *time;
  return OkStatus();
}

}  // namespace gopmill
