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
// replaced by 1, which the answer then tells. `bounded`: a range with an end was played before,
// which the library keeps for those without: an open end then becomes that of the movie. Set to
// whether the range of this request has an end.
Status CheckPlay(GstRTSPMessage& request, double seconds, bool& bounded);

}  // namespace gopmill
