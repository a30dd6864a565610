// SPDX-License-Identifier: Apache-2.0
//
// One muxer per output: coded packets in, container bytes out. Packets must come interleaved by dts
// (media/interleaver). The bytes are a pure function of the packets and the settings.
//
// Thread-safety: thread-compatible; owned by the stream's egress thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "media/movie_tags.h"
#include "media/packet_output.h"
#include "media/target.h"

namespace gopmill {

struct MuxTrack {
  TrackKind kind = TrackKind::kVideo;
  // Codec parameters as the encoder (or the source, when copying) states them, with extradata.
  std::shared_ptr<const AVCodecParameters> parameters;
  Rational time_base;   // of the packets given to Write, seconds per tick
  Rational frame_rate;  // video only
  // Video only: HDR10 metadata as AVMasteringDisplayMetadata and AVContentLightMetadata bytes (as
  // in EncoderSpec); empty = none.
  std::vector<std::uint8_t> mastering_display = {};
  std::vector<std::uint8_t> content_light = {};
  std::string language = {}, title = {};
  bool is_default = false, forced = false;  // `forced` of text
  int roles = 0;                            // StreamRoles
};

struct MuxSettings {
  Container container = Container::kMp4;
  // MP4: fragmented, playable while it is made (true), or one moov in front (false, needs `path`).
  bool streamed = true;
  std::string path;     // file to write when not streamed; ignored otherwise
  MovieTags tags = {};  // times from the start of the output
};

// Where streamed bytes go; an error stops the muxer.
using MuxOutput = std::function<Status(std::span<const std::uint8_t>)>;

class Muxer : public PacketOutput {
 public:
  // Writes the header. `output` is used when streamed.
  static Result<std::unique_ptr<Muxer>> Open(const MuxSettings& settings,
                                             std::span<const MuxTrack> tracks, MuxOutput output);
  ~Muxer() override;

  // Writes one packet of track `track` (index into the tracks given). Takes pts, dts and duration
  // in the track's time base.
  Status Write(std::size_t track, av::Packet packet) override;
  // Marks a place where a fragment may end (before the packet written next): the start of a unit.
  Status EndFragment() override;
  // Writes what is left and the trailer. Without it a file is not playable.
  Status Finish() override;

  [[nodiscard]] std::int64_t bytes_written() const override;
  [[nodiscard]] std::int64_t packets_written(std::size_t track) const override;

 private:
  struct Impl;
  explicit Muxer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

std::string_view ContentType(Container container);  // "video/mp4"

}  // namespace gopmill
