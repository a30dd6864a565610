// SPDX-License-Identifier: Apache-2.0
//
// Under which path gst-rtsp-server keeps what a player has described.
//
// Until a SETUP takes it, the library keeps the media of a client's last DESCRIBE by its path,
// without the query, and gives it to the next DESCRIBE of that path: also where that asks for other
// parameters, or where the source has ended and come again meanwhile. So every second DESCRIBE of a
// path leads to a mount point of another name, below kAgainMount. Clients do not see it.
//
// Thread-safety: safe; called within a request of the client.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include <string>

#include "server/rtsp/client_state.h"

namespace gopmill {

// No path of a URL has a question mark.
inline constexpr const char* kAgainMount = "/again?";

// Where the media of the next DESCRIBE of `path` shall be looked up.
std::string DescribePath(ClientState& state, const std::string& path);
// That of a DESCRIBE that goes on to the library, which keeps its media by that.
std::string TakeDescribePath(ClientState& state, const std::string& path);
// Where the media of another request of a player is: that of its session (null where it has none),
// or what it has described. The query means nothing there: players that go by the Content-Base
// leave it out, others (Media3) repeat the URL of their DESCRIBE, or add the name of a track to
// that.
std::string PlayerPath(ClientState& state, GstRTSPSession* session, const GstRTSPUrl& url);
// The Content-Base of an answer to DESCRIBE as the client knows it.
void RestoreContentBase(GstRTSPMessage& answer);

}  // namespace gopmill
