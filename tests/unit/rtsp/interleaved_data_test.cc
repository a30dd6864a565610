// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/interleaved_data.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <thread>

namespace gopmill {
namespace {

using ParseData = GstRTSPResult (*)(GstRTSPMessage*, guint8*);

// As libgstrtspserver's own reference is bound: the program first, then its libraries.
ParseData BoundParse() {
  return reinterpret_cast<ParseData>(dlsym(RTLD_DEFAULT, "gst_rtsp_message_parse_data"));
}

class DataMessage {
 public:
  explicit DataMessage(guint8 channel) { gst_rtsp_message_init_data(&message_, channel); }
  DataMessage(const DataMessage&) = delete;
  DataMessage& operator=(const DataMessage&) = delete;
  ~DataMessage() { gst_rtsp_message_unset(&message_); }
  DataMessage& Came() {
    constexpr std::array<guint8, 100> kBody{};
    gst_rtsp_message_set_body(&message_, kBody.data(), kBody.size());
    return *this;
  }
  DataMessage& IsSent() {
    gst_rtsp_message_take_body_buffer(&message_, gst_buffer_new_allocate(nullptr, 100, nullptr));
    return *this;
  }
  // Its channel, as the library is told.
  std::optional<int> Channel() {
    guint8 channel = 0;
    if (BoundParse()(&message_, &channel) != GST_RTSP_OK) return std::nullopt;
    return channel;
  }

 private:
  GstRTSPMessage message_{};
};

TEST(InterleavedData, LibrariesAskUsForTheChannel) {
  ASSERT_NE(BoundParse(), nullptr);
  EXPECT_EQ(BoundParse(), &gst_rtsp_message_parse_data);
  Dl_info here{};
  ASSERT_NE(dladdr(reinterpret_cast<void*>(BoundParse()), &here), 0);
  EXPECT_EQ(std::string(here.dli_fname).find("libgst"), std::string::npos) << here.dli_fname;
}

TEST(InterleavedData, OtherThreadsGetWhatTheyAskFor) {
  gst_init(nullptr, nullptr);
  std::thread([] { EXPECT_EQ(DataMessage(7).Came().Channel(), 7); }).join();
}

TEST(InterleavedData, AClientThatHasSetNothingUpSendsNothingIn) {
  gst_init(nullptr, nullptr);
  std::thread([] {
    ForgetChannels();
    for (const guint8 channel : std::to_array<guint8>({0, 1, 255})) {
      EXPECT_EQ(DataMessage(channel).Came().Channel(), std::nullopt) << int{channel};
      EXPECT_EQ(DataMessage(channel).IsSent().Channel(), channel) << "what is sent to it goes";
    }
  }).join();
}

}  // namespace
}  // namespace gopmill
