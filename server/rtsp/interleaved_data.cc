// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/interleaved_data.h"

#include <bitset>
#include <optional>

#include "base/clock.h"

namespace gopmill {
namespace {

constexpr int kChannels = 256;

struct Channels {
  bool known = false;  // the thread serves clients
  std::bitset<kChannels> announced, rtp, rtcp;
  TimePoint second = {};  // in which so many bytes of RTCP have come
  std::size_t report_bytes = 0;
};
thread_local Channels channels;

struct Pair {
  std::size_t rtp, rtcp;
};

// Empty where it is not over TCP, or sends where no channel is.
std::optional<Pair> PairOf(GstRTSPStreamTransport* transport) {
  if (transport == nullptr) return std::nullopt;
  const GstRTSPTransport& terms = *gst_rtsp_stream_transport_get_transport(transport);
  const auto [rtp, rtcp] = terms.interleaved;
  if (terms.lower_transport != GST_RTSP_LOWER_TRANS_TCP || rtp < 0 || rtp >= kChannels ||
      rtcp < 0 || rtcp >= kChannels) {
    return std::nullopt;
  }
  return Pair{.rtp = static_cast<std::size_t>(rtp), .rtcp = static_cast<std::size_t>(rtcp)};
}

// The library looks for RTP first where both channels are the same.
void OnSetup(const GstRTSPContext& context) {
  const auto pair = PairOf(context.trans);
  if (!pair || context.media == nullptr) return;
  for (auto* each : {&channels.announced, &channels.rtp, &channels.rtcp}) {
    each->reset(pair->rtp).reset(pair->rtcp);
  }
  channels.announced.set(pair->rtp, (gst_rtsp_media_get_transport_mode(context.media) &
                                     GST_RTSP_TRANSPORT_MODE_RECORD) != 0);
  channels.rtcp.set(pair->rtcp, pair->rtcp != pair->rtp);
}

// Of a session whose tracks may have been set up on other connections, too.
void OnRecord(const GstRTSPContext& context) {
  if (context.sessmedia == nullptr || context.media == nullptr) return;
  for (guint i = 0; i < gst_rtsp_media_n_streams(context.media); ++i) {
    const auto pair = PairOf(gst_rtsp_session_media_get_transport(context.sessmedia, i));
    if (pair && channels.announced.test(pair->rtp)) channels.rtp.set(pair->rtp);
  }
}

bool TakesReport(std::size_t bytes) {
  const TimePoint now = SteadyNow();
  if (now - channels.second >= std::chrono::seconds(1)) {
    channels.second = now;
    channels.report_bytes = 0;
  }
  channels.report_bytes += bytes;
  return channels.report_bytes <= kReportBytesPerSecond;
}

// What is sent has a buffer for a body, what has come has none.
bool Takes(const GstRTSPMessage& message) {
  if (!channels.known || gst_rtsp_message_has_body_buffer(&message) != FALSE) return true;
  const guint8 channel = message.type_data.data.channel;
  return channels.rtp.test(channel) ||
         (channels.rtcp.test(channel) && TakesReport(message.body_size));
}

}  // namespace

void ForgetChannels() {
  channels = Channels();
  channels.known = true;
}

void NoteChannels(const GstRTSPContext& context) {
  if (context.method == GST_RTSP_SETUP) OnSetup(context);
  if (context.method == GST_RTSP_RECORD) OnRecord(context);
}

}  // namespace gopmill

// The dynamic linker prefers the program's definition to the library's.
extern "C" GstRTSPResult gst_rtsp_message_parse_data(GstRTSPMessage* message, guint8* channel) {
  g_return_val_if_fail(message != nullptr, GST_RTSP_EINVAL);
  g_return_val_if_fail(message->type == GST_RTSP_MESSAGE_DATA, GST_RTSP_EINVAL);
  if (!gopmill::Takes(*message)) return GST_RTSP_ERROR;
  if (channel != nullptr) *channel = message->type_data.data.channel;
  return GST_RTSP_OK;
}
