// SPDX-License-Identifier: Apache-2.0
//
// Closed captions that travel inside of pictures: cc_data of ATSC A/53 part 4, 6.2.3, with CEA-608
// and CEA-708 in it. Decoders attach them to frames, encoders write them as SEI messages.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "media/av_ptr.h"

namespace gopmill {

// Triplets of bytes: kind and validity, then two of data.
using Captions = std::vector<std::uint8_t>;

// What one picture may have (cc_count has five bits).
inline constexpr std::size_t kMaxCaptionTriplets = 31;

// Whether decoders of this AVCodecID find any.
bool MayHaveCaptions(int codec);

// Those of a frame; triplets that only fill up its channel are left out.
Captions CaptionsOf(const AVFrame& frame);

// At most kMaxCaptionTriplets: of more, those of CEA-608 come first and the rest is lost. Nothing
// is attached where there are none.
void AttachCaptions(Captions captions, AVFrame& frame);

}  // namespace gopmill
