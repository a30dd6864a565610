// SPDX-License-Identifier: Apache-2.0
//
// How libavformat's muxers are set up: names, options and stream properties per container. All of
// it is fixed by the container and the tracks, so that the bytes are too.
//
// Thread-safety: compatible; each call touches what it is given alone.
#pragma once

#include <memory>

#include "base/status.h"
#include "media/av_compat.h"
#include "media/muxer.h"

namespace gopmill {

struct FreeOutputFormat {
  void operator()(AVFormatContext* context) const noexcept { avformat_free_context(context); }
};
// An output context; its AVIOContext belongs to the MuxSink.
using OutputFormat = std::unique_ptr<AVFormatContext, FreeOutputFormat>;

// Decoder buffering that transport streams are laid out for: presentation starts this long after
// the clock reference. The same value that FFmpeg's own program uses.
inline constexpr int kTsDelayMicroseconds = 700'000;

// A context for the container without streams or byte sink.
Result<OutputFormat> NewOutputFormat(Container container);

// Appends a stream with the track's properties. Its time base is a wish: the muxer's header may
// change it.
Status AddStream(AVFormatContext& context, Container container, const MuxTrack& track);

// Writes the header with the options of the container. An option that FFmpeg does not know is our
// mistake and an error.
Status WriteHeader(AVFormatContext& context, Container container, bool streamed);

}  // namespace gopmill
