// SPDX-License-Identifier: Apache-2.0
#include "server/stream/sink_output.h"

#include <utility>

namespace gopmill {

SinkOutput::SinkOutput(StreamSink& sink, MuxSettings mux, std::stop_token stop,
                       std::function<void()> on_start)
    : sink_(sink), mux_(std::move(mux)), stop_(std::move(stop)), on_start_(std::move(on_start)) {}

Result<std::unique_ptr<PacketOutput>> SinkOutput::Open(Container container,
                                                       std::span<const MuxTrack> tracks) {
  mux_.container = container;
  if (sink_.brings_output()) {
    GOPMILL_RETURN_IF_ERROR(BeforeWrite());
    return sink_.OpenOutput(container, tracks);
  }
  if (PacketSink* packets = sink_.packets()) return OpenForwarder(*packets, tracks);
  return OpenMuxer(tracks);
}

Result<std::unique_ptr<PacketOutput>> SinkOutput::OpenMuxer(std::span<const MuxTrack> tracks) {
  GOPMILL_ASSIGN_OR_RETURN(
      auto muxer, Muxer::Open(mux_, tracks, [this](std::span<const std::uint8_t> bytes) -> Status {
        GOPMILL_RETURN_IF_ERROR(BeforeWrite());
        return sink_.Write(bytes);
      }));
  return std::unique_ptr<PacketOutput>(std::move(muxer));
}

Result<std::unique_ptr<PacketOutput>> SinkOutput::OpenForwarder(PacketSink& packets,
                                                                std::span<const MuxTrack> tracks) {
  GOPMILL_RETURN_IF_ERROR(BeforeWrite());
  GOPMILL_RETURN_IF_ERROR(packets.OnTracks(PacketForwarder::Describe(tracks)));
  const auto write = [this, &packets](const CodedPacket& packet) -> Status {
    GOPMILL_RETURN_IF_ERROR(BeforeWrite());
    return packets.WritePacket(packet);
  };
  return std::unique_ptr<PacketOutput>(std::make_unique<PacketForwarder>(tracks, write));
}

Status SinkOutput::BeforeWrite() {
  if (stop_.stop_requested()) return Cancelled();
  if (!start_) return OkStatus();
  on_start_();
  GOPMILL_RETURN_IF_ERROR(sink_.Start(*start_));
  start_.reset();
  return OkStatus();
}

}  // namespace gopmill
