// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/reception.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/rtsp/announcement.h"
#include "server/rtsp/gst_ptr.h"
#include "server/rtsp/rtp_guard.h"

namespace gopmill {
namespace {

using Caps = std::unique_ptr<GstCaps, gst::FreeBy<gst_caps_unref>>;

Caps CapsOf(const char* text) { return Caps(gst_caps_from_string(text)); }

Receiver ReceiverFor(const char* caps) {
  auto receiver = ReceiverOf(*CapsOf(caps), 3);
  EXPECT_TRUE(receiver.has_value()) << caps;
  return receiver.value_or(Receiver{});
}

gst::Object<GstElement> Make(const char* factory) {
  return gst::Adopt(GST_ELEMENT(gst_object_ref_sink(gst_element_factory_make(factory, nullptr))));
}

std::shared_ptr<Reception> ReceptionOf(const char* caps) {
  Reception::Stream stream;
  stream.number = 3;
  stream.receiver = ReceiverFor(caps);
  return Reception::Make({stream}, std::chrono::seconds(1));
}

class ReceptionTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { gst_init(nullptr, nullptr); }
};

constexpr const char* kVp8 =
    "application/x-rtp, media=video, clock-rate=90000, encoding-name=VP8, payload=96";
constexpr const char* kL16 =
    "application/x-rtp, media=audio, clock-rate=44100, encoding-name=L16, payload=97, "
    "encoding-params=(string)2";

constexpr const char* kLatm =
    "application/x-rtp, media=audio, clock-rate=16000, encoding-name=MP4A-LATM, payload=97, "
    "cpresent=(string)0, config=(string)40002810";

// A client may say RECORD as often as it likes.
TEST_F(ReceptionTest, ListensToAStreamOnce) {
  const auto reception = ReceptionOf(kVp8);
  const auto element = Make("rtpsession");
  GObject* session = nullptr;
  g_object_get(element.get(), "internal-session", &session, nullptr);
  ASSERT_NE(session, nullptr);
  const auto before = reception.use_count();
  for (int i = 0; i < 5; ++i) reception->ListenTo(3, session);
  EXPECT_EQ(reception.use_count(), before + 1) << "each listener holds it";
  g_object_unref(session);
}

TEST_F(ReceptionTest, ADepayloaderGetsWhatItWasMadeForOnly) {
  GstBuffer* packet = gst_buffer_new_allocate(nullptr, 100, nullptr);
  gst_buffer_memset(packet, 0, 0, 100);
  gst_buffer_memset(packet, 0, 0x80, 1);  // version 2
  RtpGuard guard(ReceiverFor(kL16));
  EXPECT_FALSE(guard.Allow(*packet)) << "nothing said what it is";
  EXPECT_TRUE(guard.TakeCaps(*CapsOf(kL16)).ok());
  EXPECT_TRUE(guard.Allow(*packet));
  for (const char* caps :
       {"application/x-rtp, media=audio, clock-rate=44100, encoding-name=L16, payload=97, "
        "encoding-params=(string)200",
        "application/x-rtp, media=audio, clock-rate=44100, encoding-name=L16, payload=97, "
        "channels=(int)200",
        "application/x-rtp, media=audio, clock-rate=48000, encoding-name=L16, payload=97",
        "application/x-rtp, media=audio, encoding-name=L16, payload=97", kVp8}) {
    EXPECT_FALSE(guard.TakeCaps(*CapsOf(caps)).ok()) << caps;
    EXPECT_FALSE(guard.Allow(*packet)) << caps;
  }
  gst_buffer_unref(packet);
}

// Its depayloader hands out the first one with the length in front.
TEST_F(ReceptionTest, SoundOfLatmBeginsWithTheSecondUnit) {
  Reception::Stream stream;
  stream.number = 3;
  stream.receiver = ReceiverFor(kLatm);
  GError* error = nullptr;
  const auto bin = gst::Adopt(GST_ELEMENT(gst_object_ref_sink(gst_parse_launch(
      "rtpmp4adepay name=depay3 ! appsink name=sink3 sync=false async=false", &error))));
  ASSERT_EQ(error, nullptr) << error->message;
  const auto reception = Reception::Make({stream}, std::chrono::seconds(1));
  reception->Attach(3, bin.get());
  gst_element_set_state(bin.get(), GST_STATE_PLAYING);
  const auto depayloader = gst::Adopt(gst_bin_get_by_name(GST_BIN(bin.get()), "depay3"));
  std::vector<std::uint8_t> units;  // their first bytes
  const auto source = gst::Adopt(gst_element_get_static_pad(depayloader.get(), "src"));
  gst_pad_add_probe(
      source.get(), GST_PAD_PROBE_TYPE_BUFFER,
      [](GstPad*, GstPadProbeInfo* info, gpointer into) noexcept {
        std::uint8_t byte = 0;
        gst_buffer_extract(GST_PAD_PROBE_INFO_BUFFER(info), 0, &byte, 1);
        static_cast<std::vector<std::uint8_t>*>(into)->push_back(byte);
        return GST_PAD_PROBE_OK;
      },
      &units, nullptr);
  const auto pad = gst::Adopt(gst_element_get_static_pad(depayloader.get(), "sink"));
  ASSERT_TRUE(gst_pad_send_event(pad.get(), gst_event_new_stream_start("x")));
  ASSERT_TRUE(gst_pad_send_event(pad.get(), gst_event_new_caps(CapsOf(kLatm).get())));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  ASSERT_TRUE(gst_pad_send_event(pad.get(), gst_event_new_segment(&segment)));
  for (std::uint8_t number = 0; number < 3; ++number) {
    // A header with the marker; a unit of two bytes behind its length.
    const std::vector<std::uint8_t> packet = {0x80, 97 | 0x80, 0, number, 0, 0, 0, 0,
                                              0,    0,         0, 0,      2, 7, 7};
    GstBuffer* buffer = gst_buffer_new_memdup(packet.data(), packet.size());
    GST_BUFFER_PTS(buffer) = number * GST_SECOND;
    EXPECT_EQ(gst_pad_chain(pad.get(), buffer), GST_FLOW_OK);
  }
  EXPECT_EQ(units, (std::vector<std::uint8_t>{7, 7}));
  gst_element_set_state(bin.get(), GST_STATE_NULL);
}

// Packets into the depayloader of stream `number`, as they come from a jitter buffer.
class Branch {
 public:
  Branch(Reception& reception, std::size_t number, const char* depayloader, const char* caps) {
    const std::string text = std::string(depayloader) + " name=depay" + std::to_string(number) +
                             " ! appsink sync=false async=false name=sink" + std::to_string(number);
    bin_ = gst::Adopt(GST_ELEMENT(gst_object_ref_sink(gst_parse_launch(text.c_str(), nullptr))));
    reception.Attach(number, bin_.get());
    const auto element = gst::Adopt(
        gst_bin_get_by_name(GST_BIN(bin_.get()), ("depay" + std::to_string(number)).c_str()));
    pad_ = gst::Adopt(gst_element_get_static_pad(element.get(), "sink"));
    gst_pad_add_probe(
        pad_.get(), GST_PAD_PROBE_TYPE_BUFFER,
        [](GstPad*, GstPadProbeInfo* info, gpointer taken) noexcept {
          const std::size_t size = gst_buffer_get_size(GST_PAD_PROBE_INFO_BUFFER(info));
          *static_cast<std::size_t*>(taken) += size;
          return GST_PAD_PROBE_OK;
        },
        &taken_, nullptr);
    gst_element_set_state(bin_.get(), GST_STATE_PLAYING);
    gst_pad_send_event(pad_.get(), gst_event_new_stream_start("x"));
    gst_pad_send_event(pad_.get(), gst_event_new_caps(CapsOf(caps).get()));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_pad_send_event(pad_.get(), gst_event_new_segment(&segment));
  }
  ~Branch() { gst_element_set_state(bin_.get(), GST_STATE_NULL); }
  Branch(const Branch&) = delete;
  Branch& operator=(const Branch&) = delete;

  // Without the marker.
  void Send(std::uint8_t payload, std::size_t size) {
    std::vector<std::uint8_t> packet(size, 1);
    packet[0] = 0x80;
    packet[1] = payload;
    packet[2] = static_cast<std::uint8_t>(++number_ >> 8U);
    packet[3] = static_cast<std::uint8_t>(number_ & 0xffU);
    GstBuffer* buffer = gst_buffer_new_memdup(packet.data(), packet.size());
    GST_BUFFER_PTS(buffer) = GST_SECOND;
    gst_pad_chain(pad_.get(), buffer);
  }
  [[nodiscard]] std::size_t taken() const { return taken_; }  // bytes, by the depayloader

 private:
  gst::Object<GstElement> bin_;
  gst::Object<GstPad> pad_;
  std::size_t taken_ = 0;
  unsigned number_ = 0;
};

TEST_F(ReceptionTest, SoundThatIsNeverWholeIsLeftOutAndThePicturesGoOn) {
  Reception::Stream pictures;
  pictures.number = 3;
  pictures.receiver = ReceiverFor(kVp8);
  Reception::Stream sound;
  sound.number = 4;
  sound.receiver = ReceiverFor(kLatm);
  const auto reception = Reception::Make({pictures, sound}, std::chrono::seconds(1));
  Branch seen(*reception, 3, "rtpvp8depay", kVp8);
  Branch heard(*reception, 4, "rtpmp4adepay", kLatm);
  for (std::size_t sent = 0; sent <= kMaxUnfinishedBytes; sent += 60'000) heard.Send(97, 60'000);
  EXPECT_LE(heard.taken(), kMaxUnfinishedSound);
  EXPECT_GT(heard.taken(), kMaxUnfinishedSound - 60'000);
  seen.Send(96, 100);
  EXPECT_EQ(seen.taken(), 100U);
  for (std::size_t sent = 0; sent <= kMaxUnfinishedBytes; sent += 60'000) seen.Send(96, 60'000);
  EXPECT_LE(seen.taken(), kMaxUnfinishedBytes) << "a picture is not endless";
}

TEST_F(ReceptionTest, ADepayloaderGetsPayloads) {
  RtpGuard guard(ReceiverFor(kL16));
  ASSERT_TRUE(guard.TakeCaps(*CapsOf(kL16)).ok());
  const auto allows = [&](std::vector<std::uint8_t> bytes) {
    bytes.resize(std::max<std::size_t>(bytes.size(), 12));
    const std::unique_ptr<GstBuffer, gst::FreeBy<gst_buffer_unref>> packet(
        gst_buffer_new_memdup(bytes.data(), bytes.size()));
    return guard.Allow(*packet);
  };
  const auto with = [](std::uint8_t first, const std::vector<std::uint8_t>& rest) {
    std::vector<std::uint8_t> bytes(12);
    bytes[0] = first;
    bytes.insert(bytes.end(), rest.begin(), rest.end());
    return bytes;
  };
  EXPECT_TRUE(allows(with(0x80, {1})));
  EXPECT_TRUE(allows(with(0x81, {0, 0, 0, 0, 1}))) << "behind a source";
  EXPECT_TRUE(allows(with(0x90, {0, 0, 0, 1, 9, 9, 9, 9, 1}))) << "behind an extension";
  EXPECT_TRUE(allows(with(0xa0, {1, 1})));
  EXPECT_FALSE(allows(with(0xa0, {1}))) << "padding alone";
  for (const auto& bad : {with(0x80, {}), with(0x8f, {1}), with(0x90, {0, 0, 0xff, 0xff}),
                          with(0xa0, {1, 2, 0xff}), with(0x00, {1})}) {
    EXPECT_FALSE(allows(bad)) << testing::PrintToString(bad);
  }
}

}  // namespace
}  // namespace gopmill
