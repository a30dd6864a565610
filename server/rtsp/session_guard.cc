// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/session_guard.h"

#include <cstddef>
#include <cstdio>
#include <memory>

#include "server/rtsp/gst_ptr.h"

namespace gopmill {
namespace {

// Offsets in packets, and types of RTCP (RFC 3550; RFC 5761, section 4, tells them from RTP).
constexpr std::size_t kWord = 4, kReporter = 4, kSender = 8, kPacketHeader = 12;
constexpr std::uint8_t kFirstReport = 192, kLastReport = 223, kDescription = 202, kBye = 203;

std::uint32_t NumberAt(std::span<const std::uint8_t> bytes, std::size_t at) {
  return (std::uint32_t{bytes[at]} << 24U) | (std::uint32_t{bytes[at + 1]} << 16U) |
         (std::uint32_t{bytes[at + 2]} << 8U) | bytes[at + 3];
}

enum class PadKind { kMedia, kReports };

// User data of a probe in front of a session, which owns it. A pad gets one packet at a time.
class SessionGuard {
 public:
  SessionGuard(GstElement* rtpbin, guint number, PadKind kind, SessionUse use)
      : kind_(kind), use_(use) {
    GObject* session = nullptr;
    g_signal_emit_by_name(rtpbin, "get-internal-session", number, &session);
    session_ = gst::Adopt(session);
  }

  bool Allow(std::span<const std::uint8_t> packet) {
    return kind_ == PadKind::kMedia ? AllowMedia(packet) : AllowReport(packet);
  }

  static void Destroy(gpointer pointer) noexcept { delete static_cast<SessionGuard*>(pointer); }

 private:
  // A session hears of each contributor (CSRC), too, and of reports among the packets (RFC 5761),
  // which some cameras send.
  bool AllowMedia(std::span<const std::uint8_t> packet) {
    if (packet.size() < kPacketHeader) return false;
    const std::size_t contributors = packet[0] & 0x0fU;
    const bool report = packet[1] >= kFirstReport && packet[1] <= kLastReport;
    if (report) return use_ == SessionUse::kFetch && AllowReport(packet);
    if (packet.size() < kPacketHeader + kWord * contributors) return false;
    for (std::size_t i = 0; i < contributors; ++i) {
      if (!Admit(NumberAt(packet, kPacketHeader + kWord * i))) return false;
    }
    return Admit(NumberAt(packet, kSender));
  }

  bool AllowReport(std::span<const std::uint8_t> packet) {
    return AllowReports(packet, [this](std::uint8_t type, std::uint32_t from) {
      return (use_ != SessionUse::kPlay || type != kSenderReportType) && Admit(from);
    });
  }

  bool Admit(std::uint32_t from) {
    if (known_ && from == last_) return true;
    guint own = 0;
    guint count = 0;
    g_object_get(session_.get(), "internal-ssrc", &own, "num-sources", &count, nullptr);
    if (from == own) return false;
    GObject* source = nullptr;
    g_signal_emit_by_name(session_.get(), "get-source-by-ssrc", from, &source);
    known_ = gst::Adopt(source) != nullptr;
    last_ = from;
    return known_ || count < (use_ == SessionUse::kPlay ? kMostAtPlayers : kMostAtReceiver);
  }

  const PadKind kind_;
  const SessionUse use_;
  gst::Object<GObject> session_;
  bool known_ = false;  // the one that came last
  std::uint32_t last_ = 0;
};

GstPadProbeReturn LetIn(GstPad* /*pad*/, GstPadProbeInfo* info, gpointer guard) noexcept {
  GstMapInfo map;
  GstBuffer* buffer = GST_PAD_PROBE_INFO_BUFFER(info);
  if (gst_buffer_map(buffer, &map, GST_MAP_READ) == FALSE) return GST_PAD_PROBE_DROP;
  const bool allowed = static_cast<SessionGuard*>(guard)->Allow({map.data, map.size});
  gst_buffer_unmap(buffer, &map);
  return allowed ? GST_PAD_PROBE_OK : GST_PAD_PROBE_DROP;
}

// What comes into a session comes by one of these.
void GuardPad(GstElement* rtpbin, GstPad* pad, SessionUse use) {
  const gst::Text name(gst_pad_get_name(pad));
  guint number = 0;
  const bool media = std::sscanf(name.get(), "recv_rtp_sink_%u", &number) == 1;
  if (!media && std::sscanf(name.get(), "recv_rtcp_sink_%u", &number) != 1) return;
  const PadKind kind = media ? PadKind::kMedia : PadKind::kReports;
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, &LetIn,
                    std::make_unique<SessionGuard>(rtpbin, number, kind, use).release(),
                    &SessionGuard::Destroy);
}

void OnPadAdded(GstElement* rtpbin, GstPad* pad, gpointer use) noexcept {
  GuardPad(rtpbin, pad, static_cast<SessionUse>(GPOINTER_TO_INT(use)));
}

// SSRCs with a jitter buffer, for each session; 0 = no bound.
guint MostStreams(SessionUse use) {
  switch (use) {
    case SessionUse::kPublish: return 1;
    case SessionUse::kFetch: return kMostFetchedSenders;
    case SessionUse::kPlay: break;
  }
  return 0;
}

}  // namespace

bool AllowReports(std::span<const std::uint8_t> rtcp,
                  const std::function<bool(std::uint8_t type, std::uint32_t from)>& allowed) {
  constexpr std::uint8_t kCount = 0x1f;  // of the senders that a description describes
  while (!rtcp.empty()) {
    if (rtcp.size() < kWord) return false;
    const std::size_t size = kWord * ((std::size_t{rtcp[2]} << 8U | rtcp[3]) + 1);
    if (size > rtcp.size()) return false;
    const std::size_t named = rtcp[0] & kCount;
    const bool lists = rtcp[1] == kDescription || rtcp[1] == kBye;
    if (lists && named > 1) return false;
    const bool nobody = lists && named == 0;
    if (!nobody && size < kReporter + kWord) return false;
    if (!nobody && !allowed(rtcp[1], NumberAt(rtcp, kReporter))) return false;
    rtcp = rtcp.subspan(size);
  }
  return true;
}

// The sessions take both from the bin when they are made. Without autoremove a sender that has left
// would keep its place; rtspsrc takes that for the end of its stream.
void GuardSessions(GstElement* rtpbin, SessionUse use) {
  g_object_set(rtpbin, "max-streams", MostStreams(use), nullptr);
  if (use != SessionUse::kFetch) g_object_set(rtpbin, "autoremove", TRUE, nullptr);
  g_signal_connect(rtpbin, "pad-added", G_CALLBACK(&OnPadAdded),
                   GINT_TO_POINTER(static_cast<int>(use)));
}

}  // namespace gopmill
