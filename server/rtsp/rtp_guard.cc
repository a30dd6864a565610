// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/rtp_guard.h"

#include <gst/rtp/gstrtpbuffer.h>

#include <cstdint>

#include "server/rtsp/rtp_bounds.h"

namespace gopmill {

Status RtpGuard::Check(const GstCaps& caps) const {
  const auto receiver = ReceiverOf(caps, receiver_.number);
  if (!receiver || *receiver != receiver_) {
    return Error{.code = Code::kUnsupported,
                 .message =
                     "Packets are of another codec or clock than the first that their stream "
                     "was announced with."};
  }
  return CheckNumbers(caps);
}

Status RtpGuard::TakeCaps(const GstCaps& caps) {
  open_ = false;
  GOPMILL_RETURN_IF_ERROR(Check(caps));
  open_ = true;
  rules_ = RulesOf(caps);
  return OkStatus();
}

bool RtpGuard::Allow(GstBuffer& packet) const {
  GstRTPBuffer rtp = GST_RTP_BUFFER_INIT;
  if (!open_ || gst_rtp_buffer_map(&packet, GST_MAP_READ, &rtp) == FALSE) return false;
  const auto* payload = static_cast<const std::uint8_t*>(gst_rtp_buffer_get_payload(&rtp));
  const bool allowed = rules_.Allow({payload, gst_rtp_buffer_get_payload_len(&rtp)});
  gst_rtp_buffer_unmap(&rtp);
  return allowed;
}

}  // namespace gopmill
