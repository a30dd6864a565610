// SPDX-License-Identifier: Apache-2.0
//
// Takes the place of libgstapp's gst_app_sink_pull_sample in this process, which gst-rtsp-server
// calls to send packets over TCP. That library's sender (rtsp-stream.c, send_tcp_message; 1.22 and
// before) notes that a packet is there, and pulls it later while it holds the stream's lock. A seek
// in between empties the sink: the pull then waits for a packet that comes with PLAYING only, and
// PLAYING waits for the lock (gst_rtsp_stream_get_rtpinfo), so that client and media hang for good.
// With a pull that never waits, the sender finds nothing, forgets its note and is called again with
// the next packet. Whoever is told of a packet by new-sample, as our own reception, has it in the
// sink and need not wait.
//
// The dynamic linker prefers the program's definition to the library's. Any thread.

#include <gst/app/gstappsink.h>

extern "C" GstSample* gst_app_sink_pull_sample(GstAppSink* sink) {
  return gst_app_sink_try_pull_sample(sink, 0);
}
