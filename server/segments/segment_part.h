// SPDX-License-Identifier: Apache-2.0
//
// What the name of a part means for a movie: whether there is such a part, its type, its tag, and
// its text where it is made of the plan and the index alone.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "server/api/service.h"
#include "server/segments/segment_playlist.h"
#include "server/segments/segmented_movie.h"

namespace gopmill {

// Of an address with the movie's version in it, as playlists have them: its part never changes.
inline constexpr int kSegmentAgeSeconds = 86'400;

// Of a playlist or a list of thumbnails: each of its lines has all parameters of the request in it.
// Of a manifest: it has a line for each run of segments of one length, of each track.
inline constexpr std::size_t kMaxPlaylistBytes = std::size_t{64} << 20U;

// kNotFound unless the movie has what the name names.
Status CheckPart(const SegmentedMovie& movie, const PartName& name);
// Whether TextPart makes it: playlists, manifests, headers, subtitles.
bool IsAtHand(const PartName& name);
const char* SegmentType(const PartName& name);  // "video/mp4"
// Of playlists (RFC 8216 section 4) and of manifests (ISO/IEC 23009-1 annex C).
inline constexpr const char* kHlsType = "application/vnd.apple.mpegurl";
inline constexpr const char* kDashType = "application/dash+xml";
std::string TagOf(std::string_view digest);  // the field of HTTP, quoted
// A part that is at hand and exists. `sounds`: for a manifest (DashManifest). kUnsupported where it
// would be larger than kMaxPlaylistBytes.
Result<MediaPart> TextPart(const SegmentedMovie& movie, const PartName& name,
                           std::span<const SoundOf> sounds);

}  // namespace gopmill
