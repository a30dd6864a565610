// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/session_guard.h"

#include <gio/gio.h>
#include <gst/net/net.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "server/rtsp/buffer_word.h"
#include "server/rtsp/gst_ptr.h"
#include "server/rtsp/reporter_places.h"

namespace gopmill {
namespace {

using Bytes = std::vector<std::uint8_t>;
constexpr std::uint8_t kReceiverReport = 201, kDescription = 202;

void PutNumber(Bytes& bytes, std::uint32_t number) {
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    bytes.push_back(static_cast<std::uint8_t>(number >> shift));
  }
}

// One packet of RTCP: its first byte but for the version, and words behind the sender's.
Bytes Report(std::uint8_t type, std::uint32_t from, unsigned count = 0, unsigned words = 0) {
  Bytes bytes{static_cast<std::uint8_t>(0x80U | count), type, 0,
              static_cast<std::uint8_t>(1 + words)};
  PutNumber(bytes, from);
  bytes.resize(8 + 4 * std::size_t{words});
  return bytes;
}

Bytes Packet(std::uint32_t from, std::uint8_t number) {
  Bytes bytes{0x80, 96, 0, number};
  PutNumber(bytes, 0);
  PutNumber(bytes, from);
  bytes.resize(40);
  return bytes;
}

bool AllowsAll(const Bytes& rtcp) {
  return AllowReports(rtcp, [](std::uint8_t, std::uint32_t) { return true; });
}

TEST(SessionGuard, EachPartOfAReportIsLookedAt) {
  Bytes whole = Report(kReceiverReport, 7);
  std::ranges::copy(Report(kDescription, 8, 1, 2), std::back_inserter(whole));
  std::vector<std::uint32_t> senders;
  EXPECT_TRUE(AllowReports(whole, [&](std::uint8_t type, std::uint32_t from) {
    EXPECT_EQ(type, senders.empty() ? kReceiverReport : kDescription);
    senders.push_back(from);
    return true;
  }));
  EXPECT_EQ(senders, (std::vector<std::uint32_t>{7, 8}));
  EXPECT_FALSE(AllowReports(whole, [](std::uint8_t, std::uint32_t from) { return from != 8; }));
}

TEST(SessionGuard, AReportThatIsNotWholeIsNone) {
  Bytes cut = Report(kReceiverReport, 7, 0, 3);
  cut.pop_back();
  EXPECT_FALSE(AllowsAll(cut));
  EXPECT_FALSE(AllowsAll({0x80, kReceiverReport, 0, 0}));
  EXPECT_FALSE(AllowsAll({0x80, kReceiverReport, 0, 0, 1, 2, 3, 4})) << "shorter than its sender";
  EXPECT_FALSE(AllowsAll(Report(kDescription, 7, 2, 4))) << "of several";
  EXPECT_TRUE(AllowsAll({0x80, kDescription, 0, 0})) << "of nobody";
}

class GuardedSession : public testing::Test {
 protected:
  static void SetUpTestSuite() { gst_init(nullptr, nullptr); }
  ~GuardedSession() override {
    if (bin_ != nullptr) gst_element_set_state(bin_.get(), GST_STATE_NULL);
  }
  void Begin(SessionUse use) {
    bin_ =
        gst::Adopt(GST_ELEMENT(gst_object_ref_sink(gst_element_factory_make("rtpbin", nullptr))));
    GuardSessions(bin_.get(), use);
    rtp_ = gst::Adopt(gst_element_request_pad_simple(bin_.get(), "recv_rtp_sink_0"));
    rtcp_ = gst::Adopt(gst_element_request_pad_simple(bin_.get(), "recv_rtcp_sink_0"));
    GObject* session = nullptr;
    g_signal_emit_by_name(bin_.get(), "get-internal-session", 0U, &session);
    session_ = gst::Adopt(session);
    gst_element_set_state(bin_.get(), GST_STATE_PLAYING);
    Open(*rtp_, "application/x-rtp,media=video,clock-rate=90000,encoding-name=H264,payload=96");
    Open(*rtcp_, "application/x-rtcp");
  }
  static void Open(GstPad& pad, const char* text) {
    gst_pad_send_event(&pad, gst_event_new_stream_start("x"));
    GstCaps* caps = gst_caps_from_string(text);
    gst_pad_send_event(&pad, gst_event_new_caps(caps));
    gst_caps_unref(caps);
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_pad_send_event(&pad, gst_event_new_segment(&segment));
  }
  // `address`: where it seems to come from.
  static void Send(GstPad& pad, const Bytes& bytes, const std::string& address = "127.0.0.1") {
    GstBuffer* buffer = gst_buffer_new_allocate(nullptr, bytes.size(), nullptr);
    gst_buffer_fill(buffer, 0, bytes.data(), bytes.size());
    const auto from = gst::Adopt(g_inet_socket_address_new_from_string(address.c_str(), 5000));
    gst_buffer_add_net_address_meta(buffer, from.get());
    gst_pad_chain(&pad, buffer);
  }
  guint sources() const {
    guint count = 0;
    g_object_get(session_.get(), "num-sources", &count, nullptr);
    return count;
  }
  // SSRCs with a jitter buffer.
  int streams() const {
    int count = 0;
    GstIterator* parts =
        gst_bin_iterate_all_by_element_factory_name(GST_BIN(bin_.get()), "rtpjitterbuffer");
    while (gst_iterator_foreach(
               parts, [](const GValue*, gpointer found) noexcept { ++*static_cast<int*>(found); },
               &count) == GST_ITERATOR_RESYNC) {
      count = 0;
      gst_iterator_resync(parts);
    }
    gst_iterator_free(parts);
    return count;
  }

  // Of reports that are heard from now on.
  const int& CountReports() {
    g_signal_connect(session_.get(), "on-receiving-rtcp",
                     G_CALLBACK(+[](GObject*, GstBuffer*, gpointer count) noexcept {
                       ++*static_cast<int*>(count);
                     }),
                     &reports_);
    return reports_;
  }

  int reports_ = 0;
  gst::Object<GstElement> bin_;
  gst::Object<GstPad> rtp_, rtcp_;
  gst::Object<GObject> session_;
};

TEST_F(GuardedSession, ATrackOfAPublisherHasOneSenderAndKnowsAFew) {
  Begin(SessionUse::kPublish);
  for (std::uint32_t from = 1; from <= 100; ++from) {
    Send(*rtp_, Packet(from, 0));
    Send(*rtp_, Packet(from, 1));
    Send(*rtcp_, Report(kSenderReportType, 1000 + from, 0, 5));
  }
  EXPECT_EQ(streams(), 1);
  EXPECT_LE(sources(), kMostAtReceiver);
}

TEST_F(GuardedSession, APeerThatIsFetchedFromHasSomeSendersAndKnowsAFew) {
  Begin(SessionUse::kFetch);
  for (std::uint32_t from = 1; from <= 100; ++from) {
    Send(*rtp_, Packet(from, 0));
    Send(*rtp_, Packet(from, 1));
    Send(*rtcp_, Report(kSenderReportType, 1000 + from, 0, 5));
  }
  EXPECT_EQ(streams(), static_cast<int>(kMostFetchedSenders));
  EXPECT_LE(sources(), kMostAtReceiver);
}

TEST_F(GuardedSession, APeerMayReportAmongItsPackets) {
  Begin(SessionUse::kFetch);
  const int& reports = CountReports();
  for (std::uint8_t number = 0; number < 5; ++number) Send(*rtp_, Packet(2, number));
  Send(*rtp_, Report(kSenderReportType, 2, 0, 5));
  EXPECT_EQ(reports, 1);
}

// With a jitter buffer of its own; what comes late of the other makes none.
TEST_F(GuardedSession, ASenderThatHasLeftMakesWay) {
  Begin(SessionUse::kPublish);
  std::vector<guint> senders;
  g_signal_connect(
      bin_.get(), "new-jitterbuffer",
      G_CALLBACK(+[](GstElement*, GstElement*, guint, guint ssrc, gpointer all) noexcept {
        static_cast<std::vector<guint>*>(all)->push_back(ssrc);
      }),
      &senders);
  for (std::uint8_t number = 0; number < 5; ++number) Send(*rtp_, Packet(2, number));
  constexpr std::uint8_t kBye = 203;
  Send(*rtcp_, Report(kBye, 2, 1));
  for (std::uint8_t number = 0; number < 5; ++number) {
    Send(*rtp_, Packet(3, number));
    Send(*rtp_, Packet(2, static_cast<std::uint8_t>(5 + number)));
  }
  EXPECT_EQ(senders, (std::vector<guint>{2, 3}));
  EXPECT_EQ(streams(), 1);
}

// Nothing is taken from who has the track, and it has a way out still.
TEST_F(GuardedSession, AStrangerThatLeavesTakesNothingAlong) {
  Begin(SessionUse::kPublish);
  std::vector<guint> cleared;
  g_signal_connect(bin_.get(), "clear-ssrc",
                   G_CALLBACK(+[](GstElement*, guint, guint ssrc, gpointer all) noexcept {
                     static_cast<std::vector<guint>*>(all)->push_back(ssrc);
                   }),
                   &cleared);
  for (std::uint8_t number = 0; number < 5; ++number) Send(*rtp_, Packet(2, number));
  constexpr std::uint8_t kBye = 203;
  Send(*rtp_, Packet(7, 0));  // known to the session from here on
  Send(*rtcp_, Report(kBye, 7, 1));
  Send(*rtp_, Packet(8, 0));
  EXPECT_TRUE(cleared.empty());
  Send(*rtcp_, Report(kBye, 2, 1));
  Send(*rtp_, Packet(8, 1));
  EXPECT_EQ(cleared, (std::vector<guint>{2})) << "its own";
}

TEST_F(GuardedSession, ContributorsCountAndMediaIsNoReport) {
  Begin(SessionUse::kPublish);
  Send(*rtp_, Packet(1, 0));
  Send(*rtp_, Packet(1, 1));
  for (std::uint32_t i = 0; i < 100; ++i) {
    Bytes mixed = Packet(1, static_cast<std::uint8_t>(2 + i));
    mixed[0] = 0x8f;
    Bytes contributors;
    for (std::uint32_t k = 0; k < 15; ++k) PutNumber(contributors, 100 + 15 * i + k);
    mixed.insert(mixed.begin() + 12, contributors.begin(), contributors.end());
    Send(*rtp_, mixed);
    // What looks like a report of who is known, and is a packet of somebody else.
    Bytes disguised = Packet(9000 + i, static_cast<std::uint8_t>(9));
    disguised[1] = 210;
    disguised[7] = 1;
    Send(*rtp_, disguised);
  }
  EXPECT_LE(sources(), kMostAtReceiver + 15);
}

// ffmpeg's do: without the first one sound and pictures are not put together for seconds.
TEST_F(GuardedSession, AReportInFrontOfItsPacketsIsHeard) {
  Begin(SessionUse::kPublish);
  const int& reports = CountReports();
  Send(*rtcp_, Report(kSenderReportType, 2, 0, 5));
  EXPECT_EQ(reports, 1);
  for (std::uint8_t number = 0; number < 5; ++number) Send(*rtp_, Packet(2, number));
  EXPECT_EQ(streams(), 1);
}

// Some cameras' are: the track is its who sends packets, and reports are heard all the same.
TEST_F(GuardedSession, AReportInAnotherNameTakesNoTrack) {
  Begin(SessionUse::kPublish);
  const int& reports = CountReports();
  Send(*rtcp_, Report(kSenderReportType, 1, 0, 5));
  EXPECT_EQ(streams(), 0);
  for (std::uint8_t number = 0; number < 5; ++number) Send(*rtp_, Packet(2, number));
  Send(*rtcp_, Report(kSenderReportType, 1, 0, 5));
  EXPECT_EQ(streams(), 1);
  EXPECT_EQ(reports, 2);
}

TEST_F(GuardedSession, PlayersSendNoSendersReports) {
  Begin(SessionUse::kPlay);
  const guint before = sources();
  for (std::uint32_t from = 1; from <= 100; ++from) {
    Send(*rtcp_, Report(kSenderReportType, from, 0, 5));
  }
  EXPECT_EQ(sources(), before);
  for (std::uint32_t from = 1; from <= 5; ++from) Send(*rtcp_, Report(kReceiverReport, from));
  EXPECT_EQ(sources(), before + 5) << "what they may send";
  EXPECT_EQ(streams(), 0);
}

std::string AddressOf(std::uint32_t number) {
  return "10.0." + std::to_string(number >> 8U) + "." + std::to_string(number & 0xffU);
}

TEST_F(GuardedSession, PlayersThatAreKnownAreBoundAndGoOn) {
  Begin(SessionUse::kPlay);
  for (std::uint32_t from = 1; from <= kMostAtPlayers + 100; ++from) {
    Send(*rtcp_, Report(kReceiverReport, from), AddressOf(from));
  }
  EXPECT_EQ(sources(), kMostAtPlayers);
}

// Whose session ends where its reports are all that it says.
TEST_F(GuardedSession, OneWhoMakesUpNamesTakesNoPlaceOfAPlayer) {
  Begin(SessionUse::kPlay);
  const guint before = sources();
  for (const char* liar : {"10.0.0.1", "::ffff:10.0.0.2"}) {
    for (std::uint32_t from = 1; from <= kMostAtPlayers; ++from) {
      Send(*rtcp_, Report(kReceiverReport, from + (liar[0] == ':' ? 10'000 : 0)), liar);
    }
  }
  for (std::uint32_t from = 20'001; from <= 20'000 + kMostAtPlayers; ++from) {
    Send(*rtcp_, Report(kReceiverReport, from), "2001:db8::" + std::to_string(from & 0xfffU));
  }
  constexpr guint kMost = ReporterPlaces::kMostOfNetwork;
  ASSERT_EQ(sources(), before + 3 * kMost) << "of one host, another and a network";
  Send(*rtcp_, Report(kReceiverReport, 50'000), "10.0.0.3");
  Send(*rtcp_, Report(kReceiverReport, 50'001), "::ffff:10.0.0.4");
  Send(*rtcp_, Report(kReceiverReport, 50'002), "2001:db8:0:1::1");
  EXPECT_EQ(sources(), before + 3 * kMost + 3);
}

TEST_F(GuardedSession, NobodyReportsInOurName) {
  Begin(SessionUse::kPlay);
  guint own = 0;
  g_object_get(session_.get(), "internal-ssrc", &own, nullptr);
  const int& reports = CountReports();
  Send(*rtcp_, Report(kReceiverReport, own));
  EXPECT_EQ(reports, 0);
  Send(*rtcp_, Report(kReceiverReport, own + 1));
  EXPECT_EQ(reports, 1);
}

}  // namespace
}  // namespace gopmill
