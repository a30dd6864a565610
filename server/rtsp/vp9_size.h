// SPDX-License-Identifier: Apache-2.0
//
// The size of the pictures that VP9's RTP packets tell players (RFC 9628 section 4.2, scalability
// structure). GStreamer 1.22's payloader reads it from the wrong place of pictures of more than 8
// bits; depayloaders go by it.
//
// Thread-safety: safe; what is added here runs on the payloader's thread.
#pragma once

#include <gst/gst.h>

namespace gopmill {

// Has this rtpvp9pay, which counts pictures in 15 bits, tell this size.
void TellSize(GstElement& payloader, int width, int height);

}  // namespace gopmill
