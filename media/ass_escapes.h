// SPDX-License-Identifier: Apache-2.0
//
// Escapes in styled subtitles (ASS), which FFmpeg's decoders write and its encoders (5.1) do not
// know: they take \h, \{, \} and comments in braces for text, and stop at tags with more behind
// them than they expect.
//
// Thread-safety: safe (pure function).
#pragma once

extern "C" {
#include <libavcodec/codec_id.h>
}

#include <string>
#include <string_view>

namespace gopmill {

// The text of an event, as the decoder of this codec has made it, in a form that the encoders show
// as it is meant. Not for libass.
std::string WithoutEscapes(std::string_view text, AVCodecID codec);

}  // namespace gopmill
