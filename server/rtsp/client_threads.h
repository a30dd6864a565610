// SPDX-License-Identifier: Apache-2.0
//
// The threads on which gst-rtsp-server answers its clients, and the way to end a client from
// another thread: gst_rtsp_client_close() must run where the client's connection is read, because
// neither it nor GLib's socket streams take a close and a read at once (seen: a server that reads
// nothing more, with criticals of GLib).
//
// Thread-safety: safe.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include "server/rtsp/gst_ptr.h"

namespace gopmill {

// A pool of so many threads that notes in ClientState which one answers a client.
gst::Object<GstRTSPThreadPool> MakeClientThreads(int threads);

// Ends the client soon, on its own thread, unless it has ended. False when that is not known yet.
// Where a second call finds it still there, its connection is cut: the library reads a request for
// as long as bytes of it come, and its thread does nothing else meanwhile.
bool CloseSoon(GstRTSPClient* client);

}  // namespace gopmill
