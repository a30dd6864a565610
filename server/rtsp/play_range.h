// SPDX-License-Identifier: Apache-2.0
//
// What a PLAY may ask for. gst-rtsp-server takes any Range to the pipeline; where that is none in
// which all tracks can seek, it ends the process (movie_media.h says how). So a request is looked
// at before the library sees it.
//
// Thread-safety: safe; called on client threads, within the request.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include "base/status.h"

namespace gopmill {

// RFC 2326 sections 12.29 and 12.34. A range has to be in normal play time, to begin within the
// movie and to end behind its begin; kInvalidArgument otherwise. `seconds` is the length of the
// movie, 0 = not known (live). What is played is always what the encoder made, so every Scale is
// replaced by 1, which the answer then tells.
//
// The library keeps the end of a range for later ones that have none. Whether the last range of
// `media` had one is kept with it, and an open end behind such a range becomes that of the movie.
Status CheckPlay(GstRTSPMessage& request, GstRTSPMedia& media, double seconds);

}  // namespace gopmill
