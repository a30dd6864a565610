// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/receiving_pipeline.h"

#include <gio/gio.h>
#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "media/packet_feed.h"
#include "server/rtsp/gst_ptr.h"

namespace gopmill {
namespace {

std::shared_ptr<PacketFeed> AnyFeed() {
  return std::make_shared<PacketFeed>(std::vector<FeedTrack>{{}}, std::chrono::seconds(1));
}

// Owned by the pipeline.
GstElement* Add(GstElement* pipeline, const char* factory) {
  GstElement* element = gst_element_factory_make(factory, nullptr);
  gst_bin_add(GST_BIN(pipeline), element);
  return element;
}

class ReceivingPipelineTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { gst_init(nullptr, nullptr); }
  ReceivingPipelineTest()
      : pipeline_(gst::Adopt(GST_ELEMENT(gst_object_ref_sink(gst_pipeline_new(nullptr))))) {}
  ~ReceivingPipelineTest() override { gst_element_set_state(pipeline_.get(), GST_STATE_NULL); }
  ReceivingPipelineTest(const ReceivingPipelineTest&) = delete;
  ReceivingPipelineTest& operator=(const ReceivingPipelineTest&) = delete;

  const gst::Object<GstElement> pipeline_;
};

TEST_F(ReceivingPipelineTest, PipelineIsFoundFromAnyDepth) {
  GstElement* outer = Add(pipeline_.get(), "bin");
  GstElement* inner = Add(outer, "bin");
  EXPECT_EQ(PipelineOf(inner).get(), pipeline_.get());
  EXPECT_EQ(PipelineOf(pipeline_.get()).get(), pipeline_.get());
}

// It aborts where its caps have no SSRC.
TEST_F(ReceivingPipelineTest, RepairDoesNotHearOfALoss) {
  GstElement* before = Add(pipeline_.get(), "rtpulpfecdec");
  PrepareToReceive(pipeline_.get(), AnyFeed());
  GstElement* later = Add(pipeline_.get(), "rtpulpfecdec");
  gst_element_set_state(pipeline_.get(), GST_STATE_PLAYING);
  for (GstElement* element : {before, later}) {
    g_object_set(element, "passthrough", FALSE, nullptr);
    const auto pad = gst::Adopt(gst_element_get_static_pad(element, "sink"));
    ASSERT_TRUE(gst_pad_send_event(pad.get(), gst_event_new_stream_start("x")));
    gst_pad_send_event(pad.get(),
                       gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM,
                                            gst_structure_new_empty("GstRTPPacketLost")));
  }
}

// 0 is a number of packets; by default it is a minute of what the sender's rate seems to be.
TEST_F(ReceivingPipelineTest, JumpsAreBoundInAllThatReceives) {
  GstElement* before = Add(pipeline_.get(), "rtpbin");
  PrepareToReceive(pipeline_.get(), AnyFeed());
  GstElement* later = Add(pipeline_.get(), "rtpbin");
  GstElement* deeper = Add(Add(pipeline_.get(), "bin"), "rtpbin");
  for (GstElement* element : {before, later, deeper}) {
    guint time = 1;
    g_object_get(element, "max-dropout-time", &time, nullptr);
    EXPECT_EQ(time, 0U);
  }
}

int ReceiveBufferOf(GstElement* element) {
  GSocket* taken = nullptr;
  g_object_get(element, "used-socket", &taken, nullptr);
  const auto socket = gst::Adopt(taken);
  int bytes = 0;
  if (socket == nullptr ||
      g_socket_get_option(socket.get(), SOL_SOCKET, SO_RCVBUF, &bytes, nullptr) == FALSE) {
    return 0;
  }
  return bytes;
}

// gst-rtsp-server opens them before it adds them. socket(7): the kernel doubles what it grants.
// Where more is the default they keep it.
TEST_F(ReceivingPipelineTest, SocketsHoldAsMuchAsTheyMay) {
  int most = 0;
  std::ifstream("/proc/sys/net/core/rmem_max") >> most;
  if (most == 0) GTEST_SKIP() << "the system does not say what it allows";
  PrepareToReceive(pipeline_.get(), AnyFeed());
  GstElement* source = gst_element_factory_make("udpsrc", nullptr);
  g_object_set(source, "address", "127.0.0.1", "port", 0, nullptr);
  ASSERT_NE(gst_element_set_state(source, GST_STATE_READY), GST_STATE_CHANGE_FAILURE);
  gst_bin_add(GST_BIN(pipeline_.get()), source);
  EXPECT_GE(ReceiveBufferOf(source), 2 * std::min(kSocketBytes, most));
}

TEST_F(ReceivingPipelineTest, ThePipelineHoldsTheFeed) {
  std::weak_ptr<PacketFeed> feed;
  const auto pipeline = gst::Adopt(GST_ELEMENT(gst_object_ref_sink(gst_pipeline_new(nullptr))));
  {
    const auto held = AnyFeed();
    feed = held;
    PrepareToReceive(pipeline.get(), held);
    Add(pipeline.get(), "rtpjitterbuffer");
    EXPECT_EQ(held.use_count(), 3) << "here, for those that come, and behind the jitter buffer";
  }
  EXPECT_FALSE(feed.expired());
}

// A sink that never takes its second buffer, as one behind a feed that is full.
TEST_F(ReceivingPipelineTest, WhatWaitsIsBoundAndTheOldestGoes) {
  GstElement* source = Add(pipeline_.get(), "appsrc");
  GstElement* sink = Add(pipeline_.get(), "appsink");
  g_object_set(sink, "sync", FALSE, "max-buffers", 1, nullptr);
  ASSERT_TRUE(gst_element_link(source, sink));
  PrepareToReceive(pipeline_.get(), AnyFeed());
  gst_element_set_state(pipeline_.get(), GST_STATE_PLAYING);
  constexpr gsize kPacket = gsize{64} << 10U;
  constexpr guint64 kPackets = 1600;  // 100 MiB
  for (guint64 i = 0; i < kPackets; ++i) {
    GstBuffer* buffer = gst_buffer_new_allocate(nullptr, kPacket, nullptr);
    GST_BUFFER_OFFSET(buffer) = i;
    ASSERT_EQ(gst_app_src_push_buffer(GST_APP_SRC(source), buffer), GST_FLOW_OK);
    ASSERT_LE(gst_app_src_get_current_level_bytes(GST_APP_SRC(source)), kWaitingBytes + kPacket);
  }
  EndSources(pipeline_.get());
  guint64 last = 0;
  while (GstSample* sample = gst_app_sink_try_pull_sample(GST_APP_SINK(sink), 10 * GST_SECOND)) {
    last = GST_BUFFER_OFFSET(gst_sample_get_buffer(sample));
    gst_sample_unref(sample);
  }
  EXPECT_EQ(last, kPackets - 1) << "the newest is there";
}

// As many as make a jump that is none behind the jitter buffer (RtpLoss).
TEST_F(ReceivingPipelineTest, WhatGoesCountsAsLost) {
  const auto feed = AnyFeed();
  GstElement* source = Add(pipeline_.get(), "appsrc");
  GstElement* sink = Add(pipeline_.get(), "appsink");
  g_object_set(sink, "sync", FALSE, "max-buffers", 1, nullptr);
  ASSERT_TRUE(gst_element_link(source, sink));
  PrepareToReceive(pipeline_.get(), feed);
  gst_element_set_state(pipeline_.get(), GST_STATE_PLAYING);
  constexpr gsize kPacket = gsize{4} << 10U;
  constexpr guint kPackets = 9000;  // 35 MiB
  for (guint i = 0; i < kPackets; ++i) {
    GstBuffer* buffer = gst_buffer_new_allocate(nullptr, kPacket, nullptr);
    const std::array<guint8, 4> head{0x80, 96, static_cast<guint8>(i >> 8U),
                                     static_cast<guint8>(i)};
    gst_buffer_fill(buffer, 0, head.data(), head.size());
    ASSERT_EQ(gst_app_src_push_buffer(GST_APP_SRC(source), buffer), GST_FLOW_OK);
    // The first one is taken: what goes in front of that has no number to be counted from.
    while (i == 0 && gst_app_src_get_current_level_buffers(GST_APP_SRC(source)) > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  EndSources(pipeline_.get());
  std::int64_t pulled = 0;
  while (GstSample* sample = gst_app_sink_try_pull_sample(GST_APP_SINK(sink), 10 * GST_SECOND)) {
    ++pulled;
    gst_sample_unref(sample);
  }
  EXPECT_EQ(feed->lost() + pulled, kPackets);
}

TEST_F(ReceivingPipelineTest, ASourceEndsBehindWhatItHolds) {
  GstElement* source = Add(pipeline_.get(), "appsrc");
  GstElement* sink = Add(pipeline_.get(), "appsink");
  g_object_set(sink, "sync", FALSE, nullptr);
  ASSERT_TRUE(gst_element_link(source, sink));
  gst_element_set_state(pipeline_.get(), GST_STATE_PLAYING);
  constexpr int kBuffers = 3;
  for (int i = 0; i < kBuffers; ++i) {
    GstBuffer* buffer = gst_buffer_new_allocate(nullptr, 1, nullptr);
    ASSERT_EQ(gst_app_src_push_buffer(GST_APP_SRC(source), buffer), GST_FLOW_OK);
  }
  EndSources(pipeline_.get());
  int pulled = 0;
  // gst_app_sink_pull_sample does not wait here (appsink_pull.cc).
  while (GstSample* sample = gst_app_sink_try_pull_sample(GST_APP_SINK(sink), 10 * GST_SECOND)) {
    ++pulled;
    gst_sample_unref(sample);
  }
  EXPECT_EQ(pulled, kBuffers);
  EXPECT_TRUE(gst_app_sink_is_eos(GST_APP_SINK(sink)));
}

}  // namespace
}  // namespace gopmill
