// SPDX-License-Identifier: Apache-2.0
//
// What a pipeline of GStreamer needs to receive from anybody, whether gst-rtsp-server made it (for
// a publisher) or rtspsrc is in it (for a peer that is fetched from): elements that come to harm by
// what a sender does are told to leave it alone, losses are counted, and the end lets out what has
// been received. Of no stream in particular; what a stream needs is done by Reception.
//
// Thread-safety: safe. Probes and signals run on threads of the pipeline.
#pragma once

#include <gst/gst.h>

#include <memory>

#include "media/packet_feed.h"
#include "server/rtsp/gst_ptr.h"

namespace gopmill {

// Bytes that may have arrived and wait to be read, as SO_RCVBUF counts them: a second of 8 Mb/s and
// more, since the kernel grants twice as much for what its own records take.
inline constexpr int kSocketBytes = 2 << 20;
// What a publisher over TCP has sent and its pipeline has not taken, of a track's packets and of
// its reports: more than a feed holds, as it waits for that.
inline constexpr unsigned long long kWaitingBytes = 16ULL << 20U;
// The pipeline that an element is in, or the outermost bin.
gst::Object<GstElement> PipelineOf(GstElement* element);

// For the elements that `pipeline` has and all that come into it later:
//  - rtpbin throws packets of wild sequence numbers away (at its jitter buffers),
//  - what repairs losses does not hear of them,
//  - of what comes over TCP the oldest goes (and counts as lost) once kWaitingBytes wait,
//  - sockets for UDP hold kSocketBytes, or what the system allows (net.core.rmem_max),
//  - the packets that never came behind each jitter buffer go to feed's count. Only of those that
//    come later: they are made when the first packet of a sender comes, so call this before.
// Once for a pipeline, which holds the feed from then on.
void PrepareToReceive(GstElement* pipeline, const std::shared_ptr<PacketFeed>& feed);

// Has a depayloader of MPEG-4 sound (LATM; nothing is done to others) hand out whole units only.
void DropUnframed(GstElement* depayloader);

// What a sender sent by UDP before it said that it leaves has arrived, but is perhaps not read:
// waits until the sockets of the pipeline have been empty for a moment (kSocketQuiet), and for no
// longer than kSocketPatience. Returns at once where there are none.
void AwaitSockets(GstElement* pipeline);

// Each source of the pipeline ends behind what it holds already. Does not wait.
void EndSources(GstElement* pipeline);

}  // namespace gopmill
