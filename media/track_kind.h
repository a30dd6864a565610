// SPDX-License-Identifier: Apache-2.0
//
// What a track carries. Others (pictures of subtitles, data) are not taken.
//
// Thread-safety: safe (constants).
#pragma once

namespace gopmill {

enum class TrackKind { kVideo, kAudio, kText };

}  // namespace gopmill
