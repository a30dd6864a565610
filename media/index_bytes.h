// SPDX-License-Identifier: Apache-2.0
//
// A SourceIndex as bytes, so that a movie which was read once need not be read again by the next
// process. About 18 bytes a packet: numbers as their distance from the packet before, in groups of
// seven bits.
//
// What the source says when it is opened (SourceIndex::source) is not in them: whoever takes the
// index back opens the source anyway. They are for the build that made them, which their owner
// has to see to.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/status.h"
#include "media/source_index.h"

namespace gopmill {

// No packet takes fewer.
inline constexpr std::size_t kLeastPacketBytes = 12;

// None of an index that has more than bytes can say: pictures that begin to be coded in another way
// (codings), subtitles as bitmaps.
std::optional<std::string> IndexBytes(const SourceIndex& index);

// Opens the source and takes its index from `bytes`, as IndexSource would make it of the same file.
// kCorrupt where they are no index of it, whatever they are; errors of opening as IndexSource.
Result<std::shared_ptr<const SourceIndex>> IndexFromBytes(UniqueFd fd, const std::stop_token& stop,
                                                          int audio_track, std::string_view bytes);

// The same with what is known of the source, null where they are no index; no I/O.
std::shared_ptr<const SourceIndex> ParseIndexBytes(std::string_view bytes,
                                                   std::shared_ptr<const SourceInfo> source);

}  // namespace gopmill
