// SPDX-License-Identifier: Apache-2.0
//
// The cues of a WebVTT file without all else that one may hold: FFmpeg's demuxer (5.1) ends at the
// first block that is neither a cue nor a note.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>
#include <string_view>

namespace gopmill {

// Each with its times, settings and payload, behind a header; without their names. A line of times
// begins a cue wherever it stands, an empty line ends it. Lines may end in LF, CR LF or CR.
std::string OnlyCues(std::string_view webvtt);

}  // namespace gopmill
