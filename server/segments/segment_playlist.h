// SPDX-License-Identifier: Apache-2.0
//
// The texts of a segmented movie: HLS playlists (RFC 8216) and the DASH manifest (ISO/IEC 23009-1).
// Pure. Every name inside is relative and carries the request's parameters, so that a server needs
// to remember nothing between two requests.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/status.h"
#include "server/segments/segmented_movie.h"

namespace gopmill {

// Where the parts of a sound track lie: in front of their names, empty or with a slash at its end.
std::string SoundFolder(const SegmentedMovie& movie, const AudioChoice& choice);
std::string MasterPlaylist(const SegmentedMovie& movie);
// `rendition` exists.
std::string MediaPlaylist(const SegmentedMovie& movie, PartTrack track, int rendition);
// The presentation that has a sound track of a movie as its `audio`; null = it cannot be played.
using SoundOf = std::shared_ptr<const SegmentedMovie>;
// `sounds`: for each of movie.audio_choices. Those that cannot be played are left out.
// kInvalidArgument when the segments are transport streams, which DASH players do not take.
Result<std::string> DashManifest(const SegmentedMovie& movie, std::span<const SoundOf> sounds);

}  // namespace gopmill
