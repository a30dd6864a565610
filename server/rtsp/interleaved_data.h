// SPDX-License-Identifier: Apache-2.0
//
// Which packets that come interleaved with an RTSP client's requests get into gst-rtsp-server. It
// forgets the memory of RTP where nothing takes RTP (rtsp-stream.c, gst_rtsp_stream_recv_rtp; 1.22
// and before): on the channels of a player, and of a publisher in front of its RECORD. So those
// packets are kept from it, by a gst_rtsp_message_parse_data in place of libgstrtsp's: the library
// asks that for the channel first, and drops a packet that has none. RTCP gets in from SETUP on, at
// the rate of what is really RTCP: each packet may name another sender, whom GStreamer keeps for a
// while.
//
// Threads: what a client may send is known on its own thread alone, where its requests are answered
// and its packets come. Other threads may call gst_rtsp_message_parse_data as ever.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include <cstddef>

namespace gopmill {

// Each has some hundred bytes every few seconds.
inline constexpr std::size_t kReportBytesPerSecond = std::size_t{64} << 10;

// The calling thread begins to serve another client: no channel is one of it.
void ForgetChannels();
// A request has been answered with 200 on the calling thread: SETUP adds channels, RECORD lets RTP
// in on those that have been set up to publish.
void NoteChannels(const GstRTSPContext& context);

}  // namespace gopmill
