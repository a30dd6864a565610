// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/keep_alive.h"

#include <gst/rtsp/gstrtspmessage.h>

#include <utility>

#include "base/log.h"
#include "server/rtsp/gst_ptr.h"

namespace gopmill {
namespace {

using SharedKeepAlive = std::shared_ptr<KeepAlive>;

void DropKeepAlive(gpointer held) noexcept { delete static_cast<SharedKeepAlive*>(held); }

// The signal wants to have a parameter: one that the peer does not know.
gboolean OnSend(GstElement* /*peer*/, GstRTSPMessage* request, gpointer /*data*/) noexcept {
  GstRTSPMethod method = GST_RTSP_INVALID;
  gst_rtsp_message_parse_request(request, &method, nullptr, nullptr);
  if (method == GST_RTSP_GET_PARAMETER) {
    gst_rtsp_message_set_body(request, nullptr, 0);
    gst_rtsp_message_remove_header(request, GST_RTSP_HDR_CONTENT_TYPE, -1);
  }
  return TRUE;
}

}  // namespace

std::shared_ptr<KeepAlive> KeepAlive::Make(GstElement* peer, std::string name) {
  g_signal_connect(peer, "before-send", G_CALLBACK(&OnSend), nullptr);
  return SharedKeepAlive(new KeepAlive(peer, std::move(name)));
}

void KeepAlive::Follow(GstElement* manager, unsigned number) {
  const std::string name = "recv_rtp_sink_" + std::to_string(number);
  const auto pad = gst::Adopt(gst_element_get_static_pad(manager, name.c_str()));
  if (pad == nullptr) return;
  gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_BUFFER, &KeepAlive::OnPacket,
                    new SharedKeepAlive(shared_from_this()), &DropKeepAlive);
}

// Between two packets, on the thread that reads them: rtspsrc stops reading for what it is asked to
// send, and would lose the rest of a packet that it is in the middle of.
GstPadProbeReturn KeepAlive::OnPacket(GstPad* /*pad*/, GstPadProbeInfo* /*info*/,
                                      gpointer held) noexcept {
  KeepAlive& self = **static_cast<SharedKeepAlive*>(held);
  if (self.over_) return GST_PAD_PROBE_REMOVE;
  const TimePoint now = SteadyNow();
  if (now < self.next_ || self.waits_) return GST_PAD_PROBE_OK;
  self.next_ = now + kKeepAliveInterval;
  self.Ask();
  return GST_PAD_PROBE_OK;
}

void KeepAlive::Ask() {
  waits_ = true;
  GstPromise* promise = gst_promise_new_with_change_func(
      &KeepAlive::OnAnswer, new SharedKeepAlive(shared_from_this()), &DropKeepAlive);
  gboolean taken = FALSE;
  g_signal_emit_by_name(peer_, "get-parameter", "ping", nullptr, promise, &taken);
  gst_promise_unref(promise);
}

void KeepAlive::OnAnswer(GstPromise* promise, gpointer held) noexcept {
  KeepAlive& self = **static_cast<SharedKeepAlive*>(held);
  const GstStructure* reply = gst_promise_wait(promise) == GST_PROMISE_RESULT_REPLIED
                                  ? gst_promise_get_reply(promise)
                                  : nullptr;
  self.waits_ = false;
  int result = 0;
  int code = 0;
  if (reply == nullptr || gst_structure_get_int(reply, "rtsp-result", &result) == FALSE) return;
  gst_structure_get_int(reply, "rtsp-code", &code);
  const bool sent = result >= 0;
  self.over_ = !sent;
  if ((sent && code < GST_RTSP_STS_BAD_REQUEST) || self.logged_.exchange(true)) return;
  spdlog::info("live {}: the peer takes no GET_PARAMETER ({}), it may end the session", self.name_,
               sent ? std::to_string(code) : "its OPTIONS lack it");
}

}  // namespace gopmill
