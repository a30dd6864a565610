// SPDX-License-Identifier: Apache-2.0
//
// The end of a stream's way out, as its sink wants it: a muxer whose bytes go to the sink, or what
// hands it coded packets or takes them whole (segments, shared encodes). The sink is started by
// what it is first given, so that a front end can answer with an error until then.
//
// Thread-safety: thread-affine to the stream's egress thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>

#include "media/muxer.h"
#include "server/api/stream_sink.h"

namespace gopmill {

class SinkOutput {
 public:
  // `sink` is borrowed. `mux`: the container comes with Open. `on_start` is called right before the
  // sink is started. Writes are kCancelled once `stop` was asked for.
  SinkOutput(StreamSink& sink, MuxSettings mux, std::stop_token stop,
             std::function<void()> on_start);

  // Of the movie, for a muxer; before Open.
  void SetTags(MovieTags tags) { mux_.tags = std::move(tags); }
  // What the sink is started with; before Open.
  void SetStart(StreamStart start) { start_ = std::move(start); }
  Result<std::unique_ptr<PacketOutput>> Open(Container container, std::span<const MuxTrack> tracks);

 private:
  Status BeforeWrite();
  Result<std::unique_ptr<PacketOutput>> OpenMuxer(std::span<const MuxTrack> tracks);
  Result<std::unique_ptr<PacketOutput>> OpenForwarder(PacketSink& packets,
                                                      std::span<const MuxTrack> tracks);

  StreamSink& sink_;
  MuxSettings mux_;
  const std::stop_token stop_;
  const std::function<void()> on_start_;
  std::optional<StreamStart> start_;
};

}  // namespace gopmill
