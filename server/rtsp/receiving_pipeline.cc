// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/receiving_pipeline.h"

#include <gio/gio.h>
#include <gst/app/gstappsrc.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "server/rtsp/buffer_word.h"
#include "server/rtsp/rtp_loss.h"

namespace gopmill {
namespace {

void ForEachElement(GstElement* pipeline, GstIteratorForeachFunction call, gpointer data) {
  GstIterator* elements = gst_bin_iterate_recurse(GST_BIN(pipeline));
  while (gst_iterator_foreach(elements, call, data) == GST_ITERATOR_RESYNC) {
    gst_iterator_resync(elements);
  }
  gst_iterator_free(elements);
}

bool IsMadeBy(GstElement* element, std::string_view factory) {
  GstElementFactory* made_by = gst_element_get_factory(element);
  if (made_by == nullptr) return false;
  const gst::Text name(gst_object_get_name(GST_OBJECT(made_by)));
  return name.get() == factory;
}

// A jump of the sequence number by RtpLoss::kLargestLoss (which is this property's 0) or more is
// not a loss but a number that is wild, or a sender that begins anew: the packet is thrown away
// unless those after it go on from there (RFC 3550, appendix A.1). By default the bound is a minute
// of packets at a rate that wild numbers themselves make huge: each made a timer for up to 32,768
// packets, in a list, so seconds of a core with a lock held that the end of the pipeline waits for.
// Set before there is a jitter buffer: they get it when they are made.
void BoundJumps(GstElement* element) {
  constexpr guint kByPackets = 0;
  if (IsMadeBy(element, "rtpbin")) g_object_set(element, "max-dropout-time", kByPackets, nullptr);
}

using Feed = std::shared_ptr<PacketFeed>;
void DestroyFeed(gpointer pointer, GClosure* /*closure*/) noexcept {
  delete static_cast<Feed*>(pointer);
}

// User data of a probe behind a jitter buffer, which owns it.
struct LossProbe {
  std::shared_ptr<PacketFeed> feed;
  RtpLoss loss;
  static void Destroy(gpointer pointer) noexcept { delete static_cast<LossProbe*>(pointer); }
};

// Offset in a packet of RTP.
constexpr std::size_t kRtpNumber = 2;

GstPadProbeReturn CountLost(GstPad* /*pad*/, GstPadProbeInfo* info, gpointer probe) noexcept {
  GstBuffer* buffer = GST_PAD_PROBE_INFO_BUFFER(info);
  if (gst_buffer_get_size(buffer) < kRtpNumber + 4) return GST_PAD_PROBE_OK;
  const auto number = static_cast<std::uint16_t>(WordAt(buffer, kRtpNumber) >> 16U);
  LossProbe& self = *static_cast<LossProbe*>(probe);
  self.feed->AddLost(self.loss.OnPacket(number));
  return GST_PAD_PROBE_OK;
}

void CountLostBehind(GstElement* element, const Feed& feed) {
  if (!IsMadeBy(element, "rtpjitterbuffer")) return;
  const auto pad = gst::Adopt(gst_element_get_static_pad(element, "src"));
  gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_BUFFER, &CountLost,
                    new LossProbe{.feed = feed, .loss = {}}, &LossProbe::Destroy);
}

// rtpulpfecdec, which gst-rtsp-server has in every pipeline that receives, aborts the process at
// the first packet that is missing where its caps have no SSRC: those of packets that came over
// TCP. Its repair is not used.
void HideLossesFromRepair(GstElement* element) {
  if (!IsMadeBy(element, "rtpulpfecdec")) return;
  const auto drop_loss = [](GstPad*, GstPadProbeInfo* info, gpointer) noexcept {
    const GstEvent* event = GST_PAD_PROBE_INFO_EVENT(info);
    return gst_event_has_name(const_cast<GstEvent*>(event), "GstRTPPacketLost") != FALSE
               ? GST_PAD_PROBE_DROP
               : GST_PAD_PROBE_OK;
  };
  const auto pad = gst::Adopt(gst_element_get_static_pad(element, "sink"));
  gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, drop_loss, nullptr, nullptr);
}

// The socket that a source for UDP reads; null for others and for one that has none so far.
gst::Object<GSocket> SocketOf(GstElement* element) {
  GSocket* socket = nullptr;
  if (IsMadeBy(element, "udpsrc")) g_object_get(element, "used-socket", &socket, nullptr);
  return gst::Adopt(socket);
}

// By default a key picture of 100 KB is more than a socket holds, and senders do not pause between
// its packets. For sockets that are open already, as gst-rtsp-server's are.
void WidenSocket(GstElement* element) {
  if (IsMadeBy(element, "rtspsrc")) {
    g_object_set(element, "udp-buffer-size", kSocketBytes, nullptr);
  }
  const auto socket = SocketOf(element);
  gint bytes = INT_MAX;
  if (socket == nullptr ||
      g_socket_get_option(socket.get(), SOL_SOCKET, SO_RCVBUF, &bytes, nullptr) == FALSE ||
      bytes >= 2 * kSocketBytes) {
    return;  // the default of a system for video may be more
  }
  static_cast<void>(
      g_socket_set_option(socket.get(), SOL_SOCKET, SO_RCVBUF, kSocketBytes, nullptr));
}

// User data of a probe behind an appsrc, which owns it.
struct DropProbe {
  std::shared_ptr<PacketFeed> feed;
  RtpDrops drops;
  static void Destroy(gpointer pointer) noexcept { delete static_cast<DropProbe*>(pointer); }
};

// What comes behind a drop is marked by the appsrc. Its packets are those of a track or reports,
// which have no numbers.
GstPadProbeReturn CountDropped(GstPad* /*pad*/, GstPadProbeInfo* info, gpointer probe) noexcept {
  GstBuffer* buffer = GST_PAD_PROBE_INFO_BUFFER(info);
  if (gst_buffer_get_size(buffer) < 4) return GST_PAD_PROBE_OK;
  const std::uint32_t head = WordAt(buffer, 0);
  if (IsReport(static_cast<std::uint8_t>(head >> 16U))) return GST_PAD_PROBE_OK;
  DropProbe& self = *static_cast<DropProbe*>(probe);
  self.feed->AddLost(self.drops.OnPacket(static_cast<std::uint16_t>(head),
                                         GST_BUFFER_IS_DISCONT(buffer) != FALSE));
  return GST_PAD_PROBE_OK;
}

// By default they keep whatever comes. Not blocking: the thread that reads a client's connection
// also answers it and ends it.
void BoundWaiting(GstElement* element, const Feed& feed) {
  if (!IsMadeBy(element, "appsrc")) return;
  const auto pad = gst::Adopt(gst_element_get_static_pad(element, "src"));
  gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_BUFFER, &CountDropped,
                    new DropProbe{.feed = feed, .drops = {}}, &DropProbe::Destroy);
  g_object_set(element, "max-bytes", guint64{kWaitingBytes}, "max-buffers", guint64{0}, "max-time",
               guint64{0}, "leaky-type", GST_APP_LEAKY_TYPE_DOWNSTREAM, nullptr);
}

void PrepareAdded(GstBin* /*bin*/, GstBin* /*inner*/, GstElement* element, gpointer feed) noexcept {
  BoundJumps(element);
  BoundWaiting(element, *static_cast<Feed*>(feed));
  HideLossesFromRepair(element);
  WidenSocket(element);
  CountLostBehind(element, *static_cast<Feed*>(feed));
}

// How often a socket is looked at, and for how long it must have been empty: the packet that was
// read last is on its way down the pipeline by then. An end discards it otherwise.
constexpr std::chrono::milliseconds kSocketLook(5);
constexpr std::chrono::milliseconds kSocketQuiet(25);
// Anybody may send to a socket: it is not waited for any longer.
constexpr std::chrono::milliseconds kSocketPatience(300);

// The sockets that the sources of a pipeline read; only those for UDP have one.
void AddSocket(const GValue* item, gpointer sockets) noexcept {
  auto socket = SocketOf(static_cast<GstElement*>(g_value_get_object(item)));
  auto& list = *static_cast<std::vector<gst::Object<GSocket>>*>(sockets);
  if (socket != nullptr) list.push_back(std::move(socket));
}

// Lets a source end behind what it holds already. An EOS event sent to the pipeline would overtake
// what waits in an appsrc. One for a socket's source waits for what its thread is at: on another
// thread, so that EndSources does not wait whatever that is, and from the pad, as
// the element would keep its state locked meanwhile.
void EndSource(const GValue* item, gpointer /*data*/) noexcept {
  auto* element = static_cast<GstElement*>(g_value_get_object(item));
  if (GST_IS_APP_SRC(element)) {
    static_cast<void>(gst_app_src_end_of_stream(GST_APP_SRC(element)));
  } else if (GST_OBJECT_FLAG_IS_SET(element, GST_ELEMENT_FLAG_SOURCE)) {
    gst_element_call_async(
        element,
        [](GstElement* source, gpointer) noexcept {
          const auto pad = gst::Adopt(gst_element_get_static_pad(source, "src"));
          gst_pad_push_event(pad.get(), gst_event_new_eos());
        },
        nullptr, nullptr);
  }
}

}  // namespace

gst::Object<GstElement> PipelineOf(GstElement* element) {
  auto current = gst::Share(element);
  while (GstObject* parent = gst_object_get_parent(GST_OBJECT(current.get()))) {
    current = gst::Adopt(GST_ELEMENT(parent));
  }
  return current;
}

void PrepareToReceive(GstElement* pipeline, const std::shared_ptr<PacketFeed>& feed) {
  const auto prepare = [](const GValue* item, gpointer feed_of_all) noexcept {
    auto* found = static_cast<GstElement*>(g_value_get_object(item));
    BoundJumps(found);
    BoundWaiting(found, *static_cast<Feed*>(feed_of_all));
    HideLossesFromRepair(found);
    WidenSocket(found);
  };
  Feed held = feed;
  ForEachElement(pipeline, prepare, &held);
  g_signal_connect_data(pipeline, "deep-element-added", G_CALLBACK(&PrepareAdded), new Feed(feed),
                        &DestroyFeed, static_cast<GConnectFlags>(0));
}

// rtpmp4adepay hands its first unit out with the length that stands in front of it, which decodes
// to sound of any number of channels. It says so: "framed" is for those behind it.
void DropUnframed(GstElement* element) {
  if (!IsMadeBy(element, "rtpmp4adepay")) return;
  const auto drop_unframed = [](GstPad* pad, GstPadProbeInfo*, gpointer) noexcept {
    GstCaps* caps = gst_pad_get_current_caps(pad);
    gboolean framed = FALSE;
    if (caps != nullptr) {
      gst_structure_get_boolean(gst_caps_get_structure(caps, 0), "framed", &framed);
      gst_caps_unref(caps);
    }
    return framed != FALSE ? GST_PAD_PROBE_OK : GST_PAD_PROBE_DROP;
  };
  const auto pad = gst::Adopt(gst_element_get_static_pad(element, "src"));
  gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_BUFFER, drop_unframed, nullptr, nullptr);
}

void AwaitSockets(GstElement* pipeline) {
  std::vector<gst::Object<GSocket>> sockets;
  ForEachElement(pipeline, &AddSocket, &sockets);
  if (sockets.empty()) return;
  const auto waiting = [](const auto& socket) {
    return g_socket_get_available_bytes(socket.get()) > 0;
  };
  TimePoint read = SteadyNow();
  const TimePoint deadline = read + kSocketPatience;
  for (TimePoint now = read; now < deadline && now - read < kSocketQuiet; now = SteadyNow()) {
    if (std::ranges::any_of(sockets, waiting)) read = now;
    std::this_thread::sleep_for(kSocketLook);
  }
}

void EndSources(GstElement* pipeline) { ForEachElement(pipeline, &EndSource, nullptr); }

}  // namespace gopmill
