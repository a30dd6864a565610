// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/session_guard.h"

#include <gio/gio.h>
#include <gst/net/net.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "server/rtsp/buffer_word.h"
#include "server/rtsp/gst_ptr.h"
#include "server/rtsp/reporter_places.h"

namespace gopmill {
namespace {

// Offsets in packets, and types of RTCP (RFC 3550).
constexpr std::size_t kWord = 4, kReporter = 4, kSender = 8, kPacketHeader = 12;
constexpr std::uint8_t kDescription = 202, kBye = 203;

std::uint32_t NumberAt(std::span<const std::uint8_t> bytes, std::size_t at) {
  return (std::uint32_t{bytes[at]} << 24U) | (std::uint32_t{bytes[at + 1]} << 16U) |
         (std::uint32_t{bytes[at + 2]} << 8U) | bytes[at + 3];
}

enum class PadKind { kMedia, kReports };

// Of a packet's sender: the address, or of IPv6 the half of it that a host cannot choose by itself.
// Empty where it is not known.
std::string NetworkOf(GstBuffer& packet) {
  constexpr std::size_t kNetworkBytes = 8, kMappedBytes = 10;
  const GstNetAddressMeta* meta = gst_buffer_get_net_address_meta(&packet);
  if (meta == nullptr || !G_IS_INET_SOCKET_ADDRESS(meta->addr)) return "";
  GInetAddress* address = g_inet_socket_address_get_address(G_INET_SOCKET_ADDRESS(meta->addr));
  const std::span bytes(g_inet_address_to_bytes(address), g_inet_address_get_native_size(address));
  const bool mapped = std::ranges::all_of(bytes.first(std::min(bytes.size(), kMappedBytes)),
                                          [](guint8 byte) { return byte == 0; });
  const std::size_t size = mapped ? bytes.size() : std::min(bytes.size(), kNetworkBytes);
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)};
}

// A pad by which the packets of a sender come out.
struct Outlet {
  guint sender;
  gst::Object<GstPad> pad;
};

std::vector<Outlet> OutletsOf(GstElement& rtpbin, guint number) {
  std::vector<Outlet> outlets;
  GST_OBJECT_LOCK(&rtpbin);
  for (const GList* each = rtpbin.srcpads; each != nullptr; each = each->next) {
    auto* pad = static_cast<GstPad*>(each->data);
    const gst::Text name(gst_pad_get_name(pad));
    guint session = 0;
    guint sender = 0;
    if (std::sscanf(name.get(), "recv_rtp_src_%u_%u_", &session, &sender) == 2 &&
        session == number) {
      outlets.push_back({sender, gst::Share(pad)});
    }
  }
  GST_OBJECT_UNLOCK(&rtpbin);
  return outlets;
}

// rtpbin leaves them behind where it was given something to repair losses (1.22), as it is by the
// library, which links no sender's outlet as long as another one is linked.
void RemoveOutletsOfOthers(GstElement& rtpbin, guint number, guint sender) {
  for (const Outlet& outlet : OutletsOf(rtpbin, number)) {
    if (outlet.sender == sender) continue;
    gst_pad_set_active(outlet.pad.get(), FALSE);
    gst_element_remove_pad(&rtpbin, outlet.pad.get());
  }
}

constexpr std::uint64_t kNobody = UINT64_MAX;
// Of the sender of a track. The library keeps a little of each until the publisher has gone.
constexpr int kMostChanges = 1000;

// What the signals of a publisher's session and its bin tell of a track.
struct TrackNews {
  explicit TrackNews(guint session) : number(session) {}
  const guint number;
  std::atomic<std::uint64_t> sender{kNobody};  // who has the jitter buffer, or had it last
  std::atomic<std::uint64_t> leaver{kNobody};  // one who had it and said that they leave (BYE)
};
using SharedNews = std::shared_ptr<TrackNews>;

TrackNews& NewsOf(gpointer held) { return **static_cast<SharedNews*>(held); }

void OnJitterBuffer(GstElement* /*rtpbin*/, GstElement* /*buffer*/, guint session, guint ssrc,
                    gpointer news) noexcept {
  if (session == NewsOf(news).number) NewsOf(news).sender = ssrc;
}

// Anybody may say so, in any name: it counts of who has the track.
void OnBye(GObject* /*session*/, GObject* source, gpointer news) noexcept {
  guint ssrc = 0;
  g_object_get(source, "ssrc", &ssrc, nullptr);
  if (ssrc == NewsOf(news).sender) NewsOf(news).leaver = ssrc;
}

void Listen(gpointer teller, const char* signal, GCallback callback, const SharedNews& news) {
  g_signal_connect_data(
      teller, signal, callback, new SharedNews(news),
      [](gpointer held, GClosure*) noexcept { delete static_cast<SharedNews*>(held); },
      static_cast<GConnectFlags>(0));
}

SharedNews FollowTrack(GstElement* rtpbin, GObject* session, guint number) {
  auto news = std::make_shared<TrackNews>(number);
  Listen(rtpbin, "new-jitterbuffer", G_CALLBACK(&OnJitterBuffer), news);
  Listen(session, "on-bye-ssrc", G_CALLBACK(&OnBye), news);
  return news;
}

// User data of a probe in front of a session, which owns it. A pad gets one packet at a time.
class SessionGuard {
 public:
  // `rtpbin` has the pad of the probe, and so outlives this.
  SessionGuard(GstElement* rtpbin, guint number, PadKind kind, SessionUse use)
      : rtpbin_(rtpbin), number_(number), kind_(kind), use_(use) {
    GObject* session = nullptr;
    g_signal_emit_by_name(rtpbin, "get-internal-session", number, &session);
    session_ = gst::Adopt(session);
    if (kind_ == PadKind::kMedia && use_ == SessionUse::kPublish) {
      news_ = FollowTrack(rtpbin, session, number);
    }
  }

  bool Allow(GstBuffer& packet, std::span<const std::uint8_t> bytes) {
    return kind_ == PadKind::kMedia ? AllowMedia(packet, bytes) : AllowReport(packet, bytes);
  }

  static void Destroy(gpointer pointer) noexcept { delete static_cast<SessionGuard*>(pointer); }

 private:
  // A session hears of each contributor (CSRC), too, and of reports among the packets (RFC 5761),
  // which some cameras send.
  bool AllowMedia(GstBuffer& packet, std::span<const std::uint8_t> bytes) {
    if (bytes.size() < kPacketHeader) return false;
    const std::size_t contributors = bytes[0] & 0x0fU;
    if (IsReport(bytes[1])) return use_ == SessionUse::kFetch && AllowReport(packet, bytes);
    if (bytes.size() < kPacketHeader + kWord * contributors) return false;
    for (std::size_t i = 0; i < contributors; ++i) {
      if (!Admit(packet, NumberAt(bytes, kPacketHeader + kWord * i))) return false;
    }
    const std::uint32_t from = NumberAt(bytes, kSender);
    return Admit(packet, from) && (news_ == nullptr || MakeWay(from));
  }

  // The library keeps the track for a sender that has left for two seconds and until it looks. Here
  // it is for the next one at once, of whom the first picture may be the only key for long. False
  // for what comes late of one who had to go.
  bool MakeWay(std::uint32_t next) {
    const std::uint64_t leaver = news_->leaver;
    if (leaver != kNobody && leaver != next && leaver != gone_ && changes_ < kMostChanges) {
      ++changes_;
      gone_ = leaver;
      g_signal_emit_by_name(rtpbin_, "clear-ssrc", number_, static_cast<guint>(leaver));
      RemoveOutletsOfOthers(*rtpbin_, number_, next);
    }
    return gone_ != next;
  }

  // The first sender that a publisher's session hears of has the track. Some send reports in
  // another name than their packets, so that a report does not make it: who listens to the session
  // hears it nevertheless.
  bool AllowReport(GstBuffer& packet, std::span<const std::uint8_t> bytes) {
    bool of_sender = false;
    const bool allowed = AllowReports(bytes, [&](std::uint8_t type, std::uint32_t from) {
      of_sender = of_sender || type == kSenderReportType;
      return (use_ != SessionUse::kPlay || type != kSenderReportType) && Admit(packet, from);
    });
    if (!allowed || use_ != SessionUse::kPublish || !of_sender ||
        !OutletsOf(*rtpbin_, number_).empty()) {
      return allowed;
    }
    g_signal_emit_by_name(session_.get(), "on-receiving-rtcp", &packet);
    return false;
  }

  bool IsKnown(std::uint32_t from) const {
    GObject* source = nullptr;
    g_signal_emit_by_name(session_.get(), "get-source-by-ssrc", from, &source);
    return gst::Adopt(source) != nullptr;
  }

  bool Admit(GstBuffer& packet, std::uint32_t from) {
    if (known_ && from == last_) return true;
    guint own = 0;
    guint count = 0;
    g_object_get(session_.get(), "internal-ssrc", &own, "num-sources", &count, nullptr);
    if (from == own) return false;
    known_ = IsKnown(from);
    last_ = from;
    if (known_) return true;
    if (use_ != SessionUse::kPlay) return count < kMostAtReceiver;
    return count < kMostAtPlayers &&
           places_.Take(
               NetworkOf(packet), from, [this](std::uint32_t ssrc) { return IsKnown(ssrc); },
               SteadyNow());
  }

  GstElement* const rtpbin_;
  const guint number_;
  const PadKind kind_;
  const SessionUse use_;
  gst::Object<GObject> session_;
  bool known_ = false;  // the one that came last
  std::uint32_t last_ = 0;
  ReporterPlaces places_;  // of players
  SharedNews news_;        // of a publisher's track, else null
  std::uint64_t gone_ = kNobody;
  int changes_ = 0;
};

GstPadProbeReturn LetIn(GstPad* /*pad*/, GstPadProbeInfo* info, gpointer guard) noexcept {
  GstMapInfo map;
  GstBuffer* buffer = GST_PAD_PROBE_INFO_BUFFER(info);
  if (gst_buffer_map(buffer, &map, GST_MAP_READ) == FALSE) return GST_PAD_PROBE_DROP;
  const bool allowed = static_cast<SessionGuard*>(guard)->Allow(*buffer, {map.data, map.size});
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

// Before the library's own, which was connected later.
void OnPadAdded(GstElement* rtpbin, GstPad* pad, gpointer data) noexcept {
  const auto use = static_cast<SessionUse>(GPOINTER_TO_INT(data));
  GuardPad(rtpbin, pad, use);
  const gst::Text name(gst_pad_get_name(pad));
  guint number = 0;
  guint sender = 0;
  if (use == SessionUse::kPublish &&
      std::sscanf(name.get(), "recv_rtp_src_%u_%u_", &number, &sender) == 2) {
    RemoveOutletsOfOthers(*rtpbin, number, sender);
  }
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
