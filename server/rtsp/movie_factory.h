// SPDX-License-Identifier: Apache-2.0
//
// Makes the media of a player's URL: what its DESCRIBE has opened, or a stream of its own.
//
// Thread-safety: safe.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include <string>

#include "base/status.h"
#include "server/rtsp/gst_ptr.h"
#include "server/rtsp/rtsp_request.h"
#include "server/session/service.h"

namespace gopmill {

// Tells URLs apart as far as their media differ.
std::string UrlKey(const GstRTSPUrl& url);
// Errors as ParseRtspUrl.
Result<RtspRequest> RequestOf(const GstRTSPUrl& url);

// For readers. `service` must outlive it.
gst::Object<GstRTSPMediaFactory> MakeMovieFactory(Service& service);

}  // namespace gopmill
