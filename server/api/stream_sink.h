// SPDX-License-Identifier: Apache-2.0
//
// Where the bytes of one stream go: a file, stdout, an HTTP response.
//
// Protocol: Start once, Write any number of times, Finish exactly once. A stream that fails before
// its first byte goes straight to Finish, so that a front end can still answer with a proper error.
// A protocol that carries coded packets itself (RTSP) takes those instead of container bytes: its
// sink answers packets(), and gets OnTracks and WritePacket where another gets Write.
//
// All calls but Cancel come from the one egress thread of the stream. Write may block: that is how
// backpressure reaches the source. It must return an error promptly once the client is gone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/adjustment.h"
#include "base/status.h"
#include "media/packet_output.h"
#include "media/target.h"

namespace gopmill {

// What is known before the first byte.
struct StreamStart {
  std::string content_type;  // "video/mp4"
  std::vector<Adjustment> adjustments;
  double plan_ms = 0;  // opening and probing the source, for Server-Timing
  double seconds = 0;  // length of the output, 0 = unknown
};

// What is known at the end.
struct StreamEnd {
  Status status;  // why it ended early, or OK
  // Measures in a fixed order of names, as decimal text: "frames", "bytes", "out-of-order-rate",
  // "jitter-ms"... The HTTP front sends them as trailers; the command line prints them.
  std::map<std::string, std::string> measures;
};

// The coded packets of a stream, in the order of their decoding times over all tracks.
class PacketSink {
 public:
  virtual ~PacketSink() = default;
  // Once, after Start. Video has its parameter sets in the packets if the container asked for is
  // TS.
  virtual Status OnTracks(std::vector<CodedTrack> tracks) = 0;
  // May block, like Write.
  virtual Status WritePacket(const CodedPacket& packet) = 0;
};

class StreamSink {
 public:
  virtual ~StreamSink() = default;
  virtual Status Start(const StreamStart& start) = 0;
  virtual Status Write(std::span<const std::uint8_t> bytes) = 0;
  virtual void Finish(const StreamEnd& end) = 0;
  // Whether it brings the end of the stream's way out itself, which then gets what there is to
  // write: OpenOutput, once, after Start.
  [[nodiscard]] virtual bool brings_output() const { return false; }
  virtual Result<std::unique_ptr<PacketOutput>> OpenOutput(Container /*container*/,
                                                           std::span<const MuxTrack> /*tracks*/) {
    return InternalError("This sink takes bytes.");
  }
  // What takes this stream's packets; null for a sink of bytes. The same at each call.
  virtual PacketSink* packets() { return nullptr; }
  // The one call from any thread: the stream is being stopped; a Write that is blocked, and every
  // later one, must return an error soon.
  virtual void Cancel() noexcept {}
};

}  // namespace gopmill
