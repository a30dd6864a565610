// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/pull_failure.h"

#include <gst/rtsp/gstrtspdefs.h>

#include <memory>
#include <string_view>

#include "server/rtsp/gst_ptr.h"
#include "server/rtsp/peer_text.h"

namespace gopmill {
namespace {

using ErrorPointer = std::unique_ptr<GError, gst::FreeBy<g_error_free>>;

constexpr std::size_t kMaxReasonBytes = 160;

// rtspsrc says this once SETUP was answered 461 for all streams, or they lack a transport.
bool TransportRefused(const GError& error) {
  return g_error_matches(&error, GST_STREAM_ERROR, GST_STREAM_ERROR_CODEC_NOT_FOUND) != FALSE;
}

// Of the answer that an error is about; 0 if it is about none.
guint StatusOf(GstMessage& message) {
  const GstStructure* details = nullptr;
  gst_message_parse_error_details(&message, &details);
  guint status = 0;
  if (details != nullptr) gst_structure_get_uint(details, "rtsp-status-code", &status);
  return status;
}

// What GStreamer says to its developers: "file.c(12): function (): /path/of/element:" and, on the
// next line, the reason. It is left out where it could hold a part of the URL.
std::string ReasonOf(const char* debug) {
  const std::string_view text = debug == nullptr ? "" : debug;
  const std::size_t line = text.find('\n');
  if (line == std::string_view::npos) return "";
  std::string reason = PeerText(text.substr(line + 1), kMaxReasonBytes);
  return reason.find_first_of("/=@") == std::string::npos ? reason : "";
}

std::string WithReason(std::string text, guint status, const std::string& reason) {
  if (status != 0) {
    return "the peer answers " + (reason.empty() ? std::to_string(status) : reason);
  }
  if (reason.empty()) return text;
  if (text.ends_with('.')) text.pop_back();
  return text + " (" + reason + ")";
}

struct ParsedError {
  ErrorPointer error;
  gst::Text debug;
};

ParsedError Parsed(GstMessage& message) {
  GError* error = nullptr;
  char* debug = nullptr;
  gst_message_parse_error(&message, &error, &debug);
  return {ErrorPointer(error), gst::Text(debug)};
}

}  // namespace

bool CannotConnect(GstMessage& message) {
  const auto [error, debug] = Parsed(message);
  return g_error_matches(error.get(), GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ_WRITE) !=
             FALSE &&
         StatusOf(message) == 0 && ReasonOf(debug.get()).starts_with("Failed to connect");
}

PullFailure FailureOf(GstMessage& message, const PullSource& source) {
  const auto [error, debug] = Parsed(message);
  if (TransportRefused(*error)) {
    return {OverUdp(source) ? "the camera refuses UDP (461): use rtsp://"
                            : "the camera refuses TCP (461): use rtspu://"};
  }
  const guint status = StatusOf(message);
  if (status == GST_RTSP_STS_UNAUTHORIZED) {
    return {.text =
                "name or password are refused (401), or the camera asks for a Digest that "
                "GStreamer 1.22 does not speak (qop, SHA-256)",
            .refused = true};
  }
  return {.text = WithReason(error->message, status, ReasonOf(debug.get())),
          .refused = status == GST_RTSP_STS_FORBIDDEN};
}

}  // namespace gopmill
