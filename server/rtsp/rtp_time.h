// SPDX-License-Identifier: Apache-2.0
//
// RTP time over seeks. Payloaders count it from the place that is played, so a seek would set it
// back to where the PLAY before began; RFC 2326 appendix B wants it to go on. GStreamer's players
// need that by UDP: what reaches them while they seek goes into a jitter buffer, which reckons how
// much of the range has passed from the RTP time in RTP-Info. Packets from before the seek lie in
// front of that if time goes on. Set back, they have all that was played before pass at once, and
// the buffer ends the track two seconds (its latency) later.
//
// Thread-safety: safe; what is added here runs on the thread that seeks, while the payloader rests.
#pragma once

#include <gst/gst.h>

namespace gopmill {

// Has the RTP time of this payloader go on where it flushes.
void KeepRtpTime(GstElement& payloader);

}  // namespace gopmill
