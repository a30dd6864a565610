// SPDX-License-Identifier: Apache-2.0
//
// Subtitles in a file of their own that lies beside the movie: "movie.srt", "movie.en.srt",
// "movie.pt-BR.forced.vtt". Its times count from the movie's first picture or sound.
//
// Thread-safety: safe (pure functions, and reads of a descriptor that the caller owns).
#pragma once

#include <optional>
#include <stop_token>
#include <string_view>

#include "base/status.h"
#include "base/unique_fd.h"
#include "media/subtitle_track.h"

namespace gopmill {

inline constexpr std::int64_t kMaxSubtitleFileBytes = std::int64_t{8} << 20U;

// Whether a file's name ends like one: .srt, .vtt, .ass, .ssa, in any case.
bool HasSubtitleExtension(std::string_view name);

// What the name of a file says of the movie with this stem (in the same folder, or both without):
// codec, language, `forced`, `default`; the other words are the title. Nothing if it does not
// belong to that movie.
std::optional<SubtitleTrack> DescribeSubtitleFile(std::string_view stem, std::string_view name);

// Reads the cues of a track described by its file's name. kUnsupported beyond
// kMaxSubtitleFileBytes, kCorrupt when nothing in it can be read, kIo when reading fails midway.
Result<SubtitleTrack> ReadSubtitleFile(UniqueFd fd, SubtitleTrack track,
                                       const std::stop_token& stop, TextUse use = TextUse::kWebVtt);

}  // namespace gopmill
