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
#include "server/api/service.h"
#include "server/rtsp/gst_ptr.h"
#include "server/rtsp/rtsp_request.h"

namespace gopmill {

// Errors as ParseRtspUrl.
Result<RtspRequest> RequestOf(const GstRTSPUrl& url);
// What is to be played, for the user of the request that is answered now: of their service class.
// Errors also as UseClass.
Result<RtspRequest> PlayRequestOf(const GstRTSPUrl& url);
// Tells URLs that are played apart as far as their media differ, for the same user.
std::string UrlKey(const GstRTSPUrl& url);

// What a DESCRIBE of shared media has, until it is answered.
struct MediaClaim {
  bool make = false;           // the media is not there: this client makes it, others wait for that
  std::shared_ptr<void> hold;  // the right to make it, or what keeps it from being taken down
};
// Waits for who makes the media of `url`, until `stop`; kUnavailable if nothing came of it, or too
// many wait.
// `factory` is one of these.
Result<MediaClaim> ClaimMedia(GstRTSPMediaFactory& factory, const std::string& url,
                              const std::stop_token& stop);

// For readers; so many of them may wait in ClaimMedia at once. `service` must outlive it.
gst::Object<GstRTSPMediaFactory> MakeMovieFactory(Service& service, int most_waiting);

}  // namespace gopmill
