// SPDX-License-Identifier: Apache-2.0
//
// The texts of a segmented movie: HLS playlists (RFC 8216) and the DASH manifest (ISO/IEC 23009-1).
// Pure. Every name inside is relative and carries the request's parameters, so that a server needs
// to remember nothing between two requests.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>

#include "base/status.h"
#include "server/session/segmented_movie.h"

namespace gopmill {

std::string MasterPlaylist(const SegmentedMovie& movie);
// `rendition` exists.
std::string MediaPlaylist(const SegmentedMovie& movie, PartTrack track, int rendition);
// kInvalidArgument when the segments are transport streams, which DASH players do not take.
Result<std::string> DashManifest(const SegmentedMovie& movie);

}  // namespace gopmill
