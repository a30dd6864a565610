// SPDX-License-Identifier: Apache-2.0
//
// The users of the server in the terms of gst-rtsp-server: Basic and Digest (RFC 2617).
//
// Thread-safety: safe.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include "config/users.h"
#include "server/rtsp/gst_ptr.h"

namespace gopmill {

gst::Object<GstRTSPAuth> MakeAuth(const Users& users);
// 200, or 401 or 403, for the user of the request that is answered now; 200 for everybody where
// MakeAuth was not used. The library itself asks only once the media is there.
GstRTSPStatusCode CheckRole(GstRTSPContext& context, Role role);
// An answer of 401 says how to authenticate.
void AskForUser(GstRTSPContext& context);
// Users with this role, and nobody else, get media of this factory. Without MakeAuth everybody.
void AllowRole(GstRTSPMediaFactory& factory, Role role);

}  // namespace gopmill
