// SPDX-License-Identifier: Apache-2.0
//
// A server of gst-rtsp-server that asks before it takes a connection: the library gives each one
// that it accepts a thread and descriptors at once, however many there are.
//
// Thread-safety: compatible; asks on the loop of the server.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include <functional>

#include "server/rtsp/gst_ptr.h"

namespace gopmill {

// Connections that come while `has_room` is false are closed without a word.
gst::Object<GstRTSPServer> MakeBoundedServer(std::function<bool()> has_room);

}  // namespace gopmill
