// SPDX-License-Identifier: Apache-2.0
//
// Why a peer cannot be fetched from, in words for who has set it up.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <gst/gst.h>

#include <string>

#include "server/rtsp/pull_sources.h"

namespace gopmill {

// `message` is an error of rtspsrc, or of what takes its streams apart.
std::string TextOfFailure(GstMessage& message, const PullSource& source);

}  // namespace gopmill
