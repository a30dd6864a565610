// SPDX-License-Identifier: Apache-2.0
//
// The codecs parameter (RFC 6381) of a track, read from its CMAF init segment, so that it says what
// the decoder will be told. Sources: ISO/IEC 14496-15 annex E (avc1, hvc1), the AV1 and VP9
// bindings to ISO BMFF (av01, vp09), RFC 6381 section 3.3 (mp4a).
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

struct AVCodecParameters;

namespace gopmill {

// "avc1.64001F", "hvc1.1.6.L93.90", "av01.0.04M.08", "vp09.00.31.08", "mp4a.40.2", "Opus". AV1 and
// VP9 say how colours are coded where that is not what a string without it stands for (BT.709 in
// limited range, 4:2:0): "av01.0.04M.10.0.112.09.16.09.0", "vp09.02.31.10.01.09.16.09.00".
// kInternal when the segment has none of these sample entries.
Result<std::string> CodecString(std::string_view init_segment);

// How pictures of a high dynamic range are to be shown; all empty for others.
struct DynamicRange {
  std::string hls;   // of VIDEO-RANGE (RFC 8216bis section 4.4.6.2): "PQ", "HLG"
  std::string dash;  // properties of an AdaptationSet (ISO/IEC 23001-8 codes), each with a newline
};
DynamicRange DynamicRangeOf(const AVCodecParameters& parameters);

// How the channels of a sound track lie: the ChannelConfiguration of ISO/IEC 23091-3, which is that
// of MPEG-4 audio for AAC, and what manifests call it (urn:mpeg:dash:23003:3). Where the layout is
// not known or has none: the usual one for so many channels.
int ChannelConfigurationOf(const AVCodecParameters& parameters);

// Ticks per second of the track that the segment describes.
Result<int> TrackTimescale(std::string_view init_segment);

}  // namespace gopmill
