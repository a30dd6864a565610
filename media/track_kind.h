// SPDX-License-Identifier: Apache-2.0
//
// What a track carries. Others (subtitles, data) are not taken.
#pragma once

namespace gopmill {

enum class TrackKind { kVideo, kAudio };

}  // namespace gopmill
