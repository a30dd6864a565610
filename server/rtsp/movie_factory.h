// SPDX-License-Identifier: Apache-2.0
//
// Makes the media of a player's URL: what its DESCRIBE has opened, or a stream of its own.
//
// Thread-safety: safe.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include <memory>
#include <stop_token>
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

// The right to make the media of `url`, or null if it is there already: players share it. Waits for
// who has that right, until `stop`. `factory` is one of these.
std::shared_ptr<void> ClaimMedia(GstRTSPMediaFactory& factory, const std::string& url,
                                 const std::stop_token& stop);

// For readers. `service` must outlive it.
gst::Object<GstRTSPMediaFactory> MakeMovieFactory(Service& service);

}  // namespace gopmill
