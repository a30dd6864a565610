// SPDX-License-Identifier: Apache-2.0
//
// What stands in front of a depayloader: it only gets what it was made for. The packets of a stream
// may be of any format that its SDP lists, and what a peer sends may be described in other words
// than its SDP.
//
// Thread-safety: thread-compatible; a pad gets one item at a time.
#pragma once

#include <gst/gst.h>

#include <utility>

#include "base/status.h"
#include "server/rtsp/receive_caps.h"
#include "server/rtsp/rtp_payload.h"

namespace gopmill {

class RtpGuard {
 public:
  explicit RtpGuard(Receiver receiver) : receiver_(std::move(receiver)) {}

  // Of the packets that follow. After an error none is allowed.
  Status TakeCaps(const GstCaps& caps);
  [[nodiscard]] bool Allow(GstBuffer& packet) const;

 private:
  Status Check(const GstCaps& caps) const;

  const Receiver receiver_;
  bool open_ = false;
  PayloadRules rules_;
};

}  // namespace gopmill
