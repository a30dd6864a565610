// SPDX-License-Identifier: Apache-2.0
//
// The media that players play, and three things that gst-rtsp-server 1.22 leaves open.
//
// A seek waits for the message that all sinks have begun anew. Two PLAYs in a row, or PAUSE and
// PLAY, can leave the message of the one before on its way: the seek takes it for its own, finds a
// track that has no rate yet, and the library ends the process ("g_assert (FALSE)" in
// gst_rtsp_media_get_rates; it is an error of the request from 1.26 on). Settle lets what is on its
// way arrive first.
//
// Sinks that come to a shared media while another player's PLAY still changes its state stay
// paused, and with them all that is behind the same tee; LetAllPlay mends that.
//
// A PAUSE takes the player from its tracks and then pauses the pipeline: what the sinks hand out in
// between goes to nobody, and what waits for room in the player's connection is thrown away. Hold
// pauses the pipeline and leaves the player on its tracks, so what had been handed out is still
// sent; the library's own pause comes with Release, before the next PLAY or SETUP, when nothing is
// on its way any more.
//
// Thread-safety: safe; called on client threads, within a request about the media.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

namespace gopmill {

// For gst_rtsp_media_factory_set_media_gtype; and what has to be done once with each that was made.
GType MovieMediaType();
void InitMovieMedia(GstRTSPMedia& media);

// For a PAUSE of a movie that plays: pauses it as described above. False for everything else, which
// is left to the library; after true the library must not pause it as well.
bool Hold(const GstRTSPContext& context);

// Has the library pause what is held, if it is.
void Release(GstRTSPSessionMedia& session);

// Before a PLAY of a movie, which may seek: releases it, pauses it where it plays, waits until its
// sinks have, and until the media has heard of it, two seconds each at most. Nothing for media that
// are shared (live, no seeks) or that a publisher sends.
void Settle(const GstRTSPContext& context);

// After a PLAY of a shared media was answered.
void LetAllPlay(GstRTSPMedia& media);

}  // namespace gopmill
