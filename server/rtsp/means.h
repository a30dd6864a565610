// SPDX-License-Identifier: Apache-2.0
//
// What a pipeline or a connection takes of the machine before it can fail: GLib and GStreamer end
// the process where a thread or a descriptor cannot be had (g_thread_new, g_wakeup_new), or wait
// for ever (the thread pool of gst-rtsp-server keeps its lock then). So it is looked at before they
// are asked.
//
// Thread-safety: safe. Others may take meanwhile what was there, hence the spare ones.
#pragma once

#include "base/status.h"

namespace gopmill {

// More than the pipeline of a player or a publisher with all its tracks starts at once.
inline constexpr int kSpareThreads = 16;
// The sockets of its tracks, and what its threads wake each other by.
inline constexpr int kSpareFiles = 16;

// kUnavailable where the machine does not have so many any more. Takes a fraction of a millisecond
// where a core is idle, some where all are busy, and waits for an encoder that is being opened.
Status CheckMeans();

}  // namespace gopmill
