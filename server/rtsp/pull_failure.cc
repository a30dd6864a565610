// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/pull_failure.h"

#include <memory>

#include "server/rtsp/gst_ptr.h"

namespace gopmill {
namespace {

using ErrorPointer = std::unique_ptr<GError, gst::FreeBy<g_error_free>>;

// rtspsrc says this once SETUP was answered 461 for all streams, or they lack a transport.
bool TransportRefused(const GError& error) {
  return g_error_matches(&error, GST_STREAM_ERROR, GST_STREAM_ERROR_CODEC_NOT_FOUND) != FALSE;
}

}  // namespace

std::string TextOfFailure(GstMessage& message, const PullSource& source) {
  GError* raw = nullptr;
  gst_message_parse_error(&message, &raw, nullptr);
  const ErrorPointer error(raw);
  if (TransportRefused(*error)) {
    return OverUdp(source) ? "the camera refuses UDP (461): use rtsp://"
                           : "the camera refuses TCP (461): use rtspu://";
  }
  return error->message;
}

}  // namespace gopmill
