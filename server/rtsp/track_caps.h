// SPDX-License-Identifier: Apache-2.0
//
// A coded track as GStreamer names it: its caps, and the elements that put it into RTP.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <gst/gst.h>

#include <string>

#include "base/status.h"
#include "media/packet_output.h"

namespace gopmill {

// "appsrc name=src0 ! h264parse ! rtph264pay name=pay0 pt=96"; kUnsupported for a codec without RTP
// payload here.
Result<std::string> BranchOf(const CodedTrack& track, std::size_t index);
// Transfers the caps to the caller.
GstCaps* CapsOf(const CodedTrack& track);
// The elements that the branches need and this machine does not have, with the package that has
// them; empty = none missing.
std::string MissingElements();

}  // namespace gopmill
