// SPDX-License-Identifier: Apache-2.0
//
// The end of a track, some time behind its last packet. The session tells players of it (BYE) by
// RTCP, which is a socket of its own by UDP: a player that is busy may read it before the packets
// that still lie in the other one. ffmpeg and GStreamer both end then, without the last pictures.
//
// Thread-safety: safe. What is held is the thread that streams the track, until the pipeline stops
// at the latest.
#pragma once

#include <gst/gst.h>

namespace gopmill {

// Lets the ends (EOS) that come out of this payloader go on half a second later.
void DelayEnd(GstElement& payloader);
// Lets one that is held go on now: while it is, the track has nothing that it could pause at.
void TellEnd(GstElement& payloader);

}  // namespace gopmill
