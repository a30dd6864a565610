// SPDX-License-Identifier: Apache-2.0
//
// Which codecs may go into which container. One table for everybody: the target's resolution, the
// muxer, help texts. Only combinations that common players can play are accepted.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string_view>

#include "base/status.h"
#include "media/target.h"

namespace gopmill {

// OK, or kInvalidArgument whose `parameter` is "vcodec" or "acodec" (the one that does not fit the
// container) and whose `accepted` lists what does. kNone always fits. kCopy fits here; what is
// copied is checked by CheckCopy once the source is known.
Status CheckContainer(Container container, VideoCodec video, AudioCodec audio);

// Whether the source's audio, named as FFmpeg names codecs ("aac", "ac3"), can be copied into the
// container.
Status CheckCopy(Container container, std::string_view source_codec);

// The audio codec to use when the client names none: Opus for WebM, AAC for the others.
AudioCodec DefaultAudioCodec(Container container);
// The video codec to use when the client names none: VP9 for WebM, H.264 for the others.
VideoCodec DefaultVideoCodec(Container container);

}  // namespace gopmill
