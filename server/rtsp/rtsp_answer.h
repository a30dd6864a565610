// SPDX-License-Identifier: Apache-2.0
//
// What the library's answers lack: our status where it has its own, and what is wrong in words.
//
// Thread-safety: safe; called on client threads, within the request that is answered.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include "server/rtsp/client_state.h"

namespace gopmill {

// Of the request of `context`, right before it is sent: the status and the words that SetProblem
// has left, or words for what the library refuses by itself, as X-Gopmill-Problem; 200 for a PAUSE
// that was done without the library (ClientState::held); and the client's own Content-Base. `full`:
// no session is left.
void CompleteAnswer(ClientState& state, GstRTSPContext& context, GstRTSPMessage& answer, bool full);

}  // namespace gopmill
