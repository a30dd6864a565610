// SPDX-License-Identifier: Apache-2.0
//
// What is done at the requests of an RTSP client before the library works on them, where that takes
// no more than what is known of the client: SETUP, PLAY and PAUSE of players, RECORD and TEARDOWN
// of publishers, and those that only say that the client is still there. DESCRIBE, which opens a
// stream, is RtspServer's.
//
// Threads: requests come on the client's own. Thread-safety: safe.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include "server/rtsp/client_state.h"

namespace gopmill {

// Once, when the client has come and has its state (AttachState).
void FollowRequests(GstRTSPClient* client);

// A request has come, and is answered from now on: the client is not silent meanwhile. What its
// last DESCRIBE had opened or claimed, and nobody took, is let go.
void NoteRequest(ClientState& state);

}  // namespace gopmill
