// SPDX-License-Identifier: Apache-2.0
// server/rtsp/appsink_pull.cc: what a shared library gets that asks for gst_app_sink_pull_sample.

#include <dlfcn.h>
#include <gst/app/gstappsink.h>
#include <gtest/gtest.h>

#include <string>

#include "server/rtsp/gst_ptr.h"

namespace gopmill {
namespace {

using Pull = GstSample* (*)(GstAppSink*);

TEST(AppsinkPull, LibrariesGetOneThatNeverWaits) {
  gst_init(nullptr, nullptr);
  // As libgstrtspserver's own reference is bound: the program first, then its libraries.
  void* const bound = dlsym(RTLD_DEFAULT, "gst_app_sink_pull_sample");
  ASSERT_NE(bound, nullptr);
  Dl_info here{};
  ASSERT_NE(dladdr(bound, &here), 0);
  EXPECT_EQ(bound, reinterpret_cast<void*>(&gst_app_sink_pull_sample));
  EXPECT_EQ(std::string(here.dli_fname).find("libgst"), std::string::npos) << here.dli_fname;

  const auto sink =
      gst::Adopt(GST_ELEMENT(gst_object_ref_sink(gst_element_factory_make("appsink", nullptr))));
  gst_element_set_state(sink.get(), GST_STATE_PLAYING);
  // The library's own would wait here for a packet that never comes.
  EXPECT_EQ(reinterpret_cast<Pull>(bound)(GST_APP_SINK(sink.get())), nullptr);
  gst_element_set_state(sink.get(), GST_STATE_NULL);
}

}  // namespace
}  // namespace gopmill
