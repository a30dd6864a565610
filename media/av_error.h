// SPDX-License-Identifier: Apache-2.0
//
// AVERROR -> Error. The text is fit for clients: what was being done, and FFmpeg's own words.
//
// Thread-safety: safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/rational.h"
#include "base/status.h"

struct AVRational;

namespace gopmill::av {

// `doing` is a sentence without a full stop ("The encoder refused a frame"). The code is derived
// from `native`: invalid data -> kCorrupt, no memory or space -> kResourceExhausted, exit request
// -> kCancelled, unknown codec/format -> kUnsupported, errno values -> kIo, the rest kInternal.
Error AvError(std::string_view doing, int native);

// The largest block that FFmpeg allocates, bytes: a packed picture of kMaxSourcePixels in 16 bits
// takes half of it, and so does the index of an MP4 of a day at 60 fps that is written.
inline constexpr std::size_t kMaxFfmpegBlock = std::size_t{1} << 30U;

// FFmpeg writes no messages of its own from now on: they are not for our users, and what matters
// comes back as errors and counts; of its assertions, Contained hears (base/contained.h).
// And no block of it is larger than kMaxFfmpegBlock. Process-wide.
void SilenceFfmpeg();

// Of the libraries this process runs with: "5.1.9".
std::string FfmpegVersion();

Rational FromAv(AVRational value);
AVRational ToAv(Rational value);  // both parts must fit 31 bits
// The same, reduced, if its parts are then `most` at most; else the nearest fraction > 0 of which
// that is true. `value` > 0.
Rational Within(Rational value, int most);
// The shape of pixels as a source states it, in parts of 16 bits: products of a few of them and of
// sizes fit into 64. {1, 1} where it states none.
Rational AspectFromAv(AVRational value);

}  // namespace gopmill::av
