// SPDX-License-Identifier: Apache-2.0
//
// A track of text in the form in which it can be drawn into the pictures: a script of Advanced
// SubStation Alpha, with the styles of its source, within limits (script_limits.h). Its times are
// those of the source, rounded to the hundredths of a second that a script has.
//
// Thread-safety: safe once made (const).
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "media/subtitle_track.h"

namespace gopmill {

// Styles, and fonts that come with a script; beyond that it is refused.
inline constexpr std::size_t kMaxScriptHeader = std::size_t{8} << 20U;

struct SubtitleScript {
  struct Span {
    std::int64_t start_ms = 0, end_ms = 0;  // [start, end), milliseconds since the source's zero
  };

  std::string text;         // UTF-8
  std::string fingerprint;  // of `text`: SHA-256
  std::vector<Span> shown;  // when there is something to see; ascending and apart

  [[nodiscard]] bool ShownAt(std::int64_t us) const;
};

// Of a track whose cues are lines of a script. kUnsupported beyond kMaxScriptHeader.
Result<std::shared_ptr<const SubtitleScript>> MakeScript(const SubtitleTrack& track);

struct ScriptTrack {
  std::size_t count = 0;  // of the movie's tracks of text
  SubtitleTrack track;    // without cues where it cannot be read
};
// Reads a movie to its end for all of its tracks of text.
Result<std::vector<SubtitleTrack>> ReadOwnTexts(UniqueFd movie, TextUse use,
                                                const std::stop_token& stop);
// Reads a movie to its end for one of its tracks of text, by its number from 1 among
// SourceInfo::subtitles. If there are fewer, only the count is filled in.
Result<ScriptTrack> ReadScriptTrack(UniqueFd movie, int number, const std::stop_token& stop);

}  // namespace gopmill
