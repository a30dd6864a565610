// SPDX-License-Identifier: Apache-2.0
//
// The codecs that sources may have, and the decoders that take them: the one list. Probing, the
// pictures' decoder and the sound's decoder go by it.
//
// Thread-safety: safe.
#pragma once

#include <string>
#include <string_view>

#include "media/av_ptr.h"
#include "media/track_kind.h"

namespace gopmill {

// Whether tracks of the codec (by FFmpeg's name of it) are taken.
bool SourceCodecAllowed(TrackKind kind, std::string_view codec);
// The decoder for a codec that is taken; null if it is not, or if the build lacks it.
const AVCodec* FindSourceDecoder(TrackKind kind, std::string_view codec);
// A decoder of pictures for a look at some, on the calling thread, of kMaxSourcePixels at most.
// Null where the codec is not taken, or the header is damaged.
av::CodecContext OpenPictureDecoder(const AVCodecParameters& video);
// All decoders of the list, as FFmpeg's option codec_whitelist wants them.
const std::string& DecoderWhitelist();

}  // namespace gopmill
