// SPDX-License-Identifier: Apache-2.0
//
// GStreamer's start, and where it and GLib write what they have to say: into our log, so that lines
// have its form and level. gst-rtsp-server calls it critical when a client is refused; that is for
// who debugs. What others call so is a warning.
//
// Thread-safety: safe. No C++ exception leaves the handler.
#pragma once

namespace gopmill {

// Once or more; before anything else of GStreamer's.
void StartGStreamer();

}  // namespace gopmill
