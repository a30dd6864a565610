// SPDX-License-Identifier: Apache-2.0
//
// Bounds of what an SDP may say of a stream, before an element of GStreamer believes it: there,
// for one, an array of 64 places takes a channel count of any size.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <gst/gst.h>

#include "base/status.h"
#include "server/rtsp/rtp_payload.h"

namespace gopmill {

// `caps` as an SDP describes a stream ("application/x-rtp, ..."). All: kInvalidArgument.
// The clock alone, which also counts for a stream that is thrown away; none is well, too.
Status CheckClockRate(const GstCaps& caps);
// Every field that a depayloader or the elements in front of it read.
Status CheckNumbers(const GstCaps& caps);

// What packets must keep to. `caps` are within the bounds.
PayloadRules RulesOf(const GstCaps& caps);

}  // namespace gopmill
