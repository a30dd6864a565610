// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/track_caps.h"

#include <gmock/gmock.h>
#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/rtsp/gst_ptr.h"
#include "server/rtsp/vp9_size.h"

namespace gopmill {
namespace {

using testing::HasSubstr;

CodedTrack Pictures(const char* codec) {
  return {.kind = TrackKind::kVideo,
          .codec = codec,
          .frame_rate = {30, 1},
          .width = 320,
          .height = 180};
}

std::string CapsText(const CodedTrack& track) {
  gst_init(nullptr, nullptr);
  GstCaps* caps = CapsOf(track);
  gchar* text = gst_caps_to_string(caps);
  std::string copy = text;
  g_free(text);
  gst_caps_unref(caps);
  return copy;
}

TEST(TrackCaps, SayWhatThePacketsAre) {
  EXPECT_THAT(CapsText(Pictures("h264")), HasSubstr("video/x-h264, stream-format"));
  EXPECT_THAT(CapsText(Pictures("hevc")), HasSubstr("video/x-h265, stream-format"));
  EXPECT_THAT(CapsText(Pictures("mpeg4")), HasSubstr("video/mpeg, mpegversion=(int)4"));
  EXPECT_THAT(CapsText(Pictures("vp9")), HasSubstr("video/x-vp9, width=(int)320"));
  for (const char* codec : {"h264", "hevc", "mpeg4", "vp9"}) {
    EXPECT_THAT(CapsText(Pictures(codec)), HasSubstr("framerate=(fraction)30/1")) << codec;
  }
}

TEST(TrackCaps, OthersAreRefusedWithWhatIsTaken) {
  const auto branch = BranchOf(Pictures("av1"), 0);
  ASSERT_FALSE(branch.ok());
  EXPECT_EQ(branch.error().code, Code::kUnsupported);
  EXPECT_EQ(branch.error().accepted, "h264, hevc, mpeg4, vp9");
}

struct Payloaded {
  std::vector<std::size_t> sizes;  // of the packets
  std::vector<GstClockTime> times;
  std::string caps;
  std::vector<std::string> packets;
};

// What becomes of these pictures, 40 ms apart, in RTP.
Payloaded Send(const CodedTrack& track, const std::vector<std::string>& pictures) {
  gst_init(nullptr, nullptr);
  const std::string text = *BranchOf(track, 0) + " ! appsink name=out sync=false";
  const auto pipeline = gst::Adopt(gst_parse_launch(text.c_str(), nullptr));
  const auto part = [&](const char* name) {
    return gst::Adopt(gst_bin_get_by_name(GST_BIN(pipeline.get()), name));
  };
  const auto source = part("src0");
  const auto sink = part("out");
  if (track.codec == "vp9") TellSize(*part("pay0"), track.width, track.height);
  GstCaps* caps = CapsOf(track);
  gst_app_src_set_caps(GST_APP_SRC(source.get()), caps);
  gst_caps_unref(caps);
  g_object_set(source.get(), "format", GST_FORMAT_TIME, nullptr);
  gst_element_set_state(pipeline.get(), GST_STATE_PLAYING);
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    GstBuffer* buffer = gst_buffer_new_allocate(nullptr, pictures[i].size(), nullptr);
    gst_buffer_fill(buffer, 0, pictures[i].data(), pictures[i].size());
    GST_BUFFER_PTS(buffer) = i * 40 * GST_MSECOND;
    GST_BUFFER_DURATION(buffer) = 40 * GST_MSECOND;
    gst_app_src_push_buffer(GST_APP_SRC(source.get()), buffer);
  }
  gst_app_src_end_of_stream(GST_APP_SRC(source.get()));
  Payloaded made;
  while (GstSample* sample =
             gst_app_sink_try_pull_sample(GST_APP_SINK(sink.get()), 5 * GST_SECOND)) {
    GstBuffer* packet = gst_sample_get_buffer(sample);
    made.sizes.push_back(gst_buffer_get_size(packet));
    made.times.push_back(GST_BUFFER_PTS(packet));
    std::string& bytes = made.packets.emplace_back(made.sizes.back(), '\0');
    gst_buffer_extract(packet, 0, bytes.data(), bytes.size());
    gchar* said = gst_caps_to_string(gst_sample_get_caps(sample));
    made.caps = said;
    g_free(said);
    gst_sample_unref(sample);
  }
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
  return made;
}

constexpr std::size_t kRtpHeader = 12;

// RFC 6416 section 5.1. Small ones would share a packet, and with it a time.
TEST(TrackCaps, Mpeg4HasAPacketForEachPictureAndItsConfigurationInBand) {
  using std::string_literals::operator""s;
  const std::string config = "\0\0\1\xb0\1\0\0\1\xb5\x89\x13\0\0\1\0\0\0\1\x20\0\xc4\x88\x80"s;
  const std::string key = config + "\0\0\1\xb6\x10\x60\x01\x02\x03"s;
  const std::string other = "\0\0\1\xb6\x50\x60\x01\x02"s;
  const Payloaded made = Send(Pictures("mpeg4"), {key, other, other, key, other});
  EXPECT_EQ(made.sizes,
            (std::vector<std::size_t>{kRtpHeader + key.size(), kRtpHeader + other.size(),
                                      kRtpHeader + other.size(), kRtpHeader + key.size(),
                                      kRtpHeader + other.size()}));
  EXPECT_EQ(made.times, (std::vector<GstClockTime>{0, 40 * GST_MSECOND, 80 * GST_MSECOND,
                                                   120 * GST_MSECOND, 160 * GST_MSECOND}));
  EXPECT_THAT(made.caps, HasSubstr("encoding-name=(string)MP4V-ES"));
  EXPECT_THAT(made.caps, HasSubstr("profile-level-id=(string)1"));
  EXPECT_THAT(made.caps,
              HasSubstr("config=(string)000001b001000001b58913000001000000012000c48880"));
}

// RFC 9628 section 4.2: what all players can tell a lost picture by.
TEST(TrackCaps, Vp9HasPictureIds) {
  using std::string_literals::operator""s;
  const std::string key = "\x82\x49\x83\x42\0\x13\xf0\x0b\x30\x01\x02"s;
  const std::string other = "\x86\0\x40\x92\x01\x02"s;
  const Payloaded made = Send(Pictures("vp9"), {key, other});
  constexpr std::size_t kDescriptor = 3, kStructure = 8;
  EXPECT_EQ(made.sizes,
            (std::vector<std::size_t>{kRtpHeader + kDescriptor + kStructure + key.size(),
                                      kRtpHeader + kDescriptor + other.size()}));
  EXPECT_THAT(made.caps, HasSubstr("encoding-name=(string)VP9,"));
}

// The payloader misreads the header of ten bits (profile 2).
TEST(TrackCaps, Vp9TellsTheSizeOfItsPictures) {
  using std::string_literals::operator""s;
  const std::string size = "\x01\x40\0\xb4"s;  // 320x180
  for (const std::string& first : {"\x82"s, "\x92"s}) {
    const std::string key = first + "\x49\x83\x42\x10\x13\xf0\x0b\x30\x01\x02"s;
    const std::string delta = "\x86\0\x40\x92\x01\x02"s;
    const Payloaded made = Send(Pictures("vp9"), {key, delta});
    ASSERT_EQ(made.packets.size(), 2U);
    EXPECT_EQ(made.packets[0].substr(kRtpHeader + 4, 4), size);
    EXPECT_EQ(made.packets[0].substr(kRtpHeader + 11), key);
    EXPECT_EQ(made.packets[1].substr(kRtpHeader + 3), delta);
  }
}

}  // namespace
}  // namespace gopmill
