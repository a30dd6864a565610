// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/rtp_guard.h"

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
  GstMapInfo map;
  if (!open_ || gst_buffer_map(&packet, &map, GST_MAP_READ) == FALSE) return false;
  const bool allowed = rules_.Allow({map.data, map.size});
  gst_buffer_unmap(&packet, &map);
  return allowed;
}

}  // namespace gopmill
