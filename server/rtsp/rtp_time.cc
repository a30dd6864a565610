// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/rtp_time.h"

#include <gst/rtp/rtp.h>

#include "server/rtsp/gst_ptr.h"

namespace gopmill {
namespace {

// Of a second, between the last packet and the next: more than pictures are out of order by as a
// rule, and about what a seek takes: who took packets from before it has little to set right.
constexpr guint32 kGapShare = 5;

// No property sets the base but where sequence numbers begin anew as well.
GstPadProbeReturn OnFlush(GstPad* /*pad*/, GstPadProbeInfo* info, gpointer data) noexcept {
  if (GST_EVENT_TYPE(gst_pad_probe_info_get_event(info)) != GST_EVENT_FLUSH_STOP) {
    return GST_PAD_PROBE_OK;
  }
  auto& payloader = *static_cast<GstRTPBasePayload*>(data);
  payloader.ts_base = payloader.timestamp + payloader.clock_rate / kGapShare;
  return GST_PAD_PROBE_OK;
}

}  // namespace

void KeepRtpTime(GstElement& payloader) {
  const auto pad = gst::Adopt(gst_element_get_static_pad(&payloader, "sink"));
  gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_EVENT_FLUSH, &OnFlush,
                    GST_RTP_BASE_PAYLOAD(&payloader), nullptr);
}

}  // namespace gopmill
