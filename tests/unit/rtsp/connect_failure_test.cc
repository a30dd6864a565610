// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/connect_failure.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "base/unique_fd.h"
#include "server/rtsp/gst_ptr.h"

namespace gopmill {
namespace {

// A port of loopback that nobody else gets meanwhile. Nothing listens there until listen() is
// called.
class OwnPort {
 public:
  OwnPort() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    auto* const any = reinterpret_cast<sockaddr*>(&address_);
    EXPECT_EQ(bind(socket_.get(), any, size), 0);
    EXPECT_EQ(getsockname(socket_.get(), any, &size), 0);
  }
  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] std::string Url() const {
    return "rtsp://127.0.0.1:" + std::to_string(ntohs(address_.sin_port));
  }

 private:
  UniqueFd socket_;
  sockaddr_in address_{};
};

TEST(ConnectFailure, SaysThatNobodyListens) {
  const OwnPort port;
  EXPECT_EQ(ConnectFailure(port.Url(), nullptr),
            "connection refused: nothing listens on this port there");
  ASSERT_EQ(listen(port.fd(), 1), 0);
  EXPECT_EQ(ConnectFailure(port.Url(), nullptr), "") << "nothing is wrong any more";
}

// What is said of a name depends on whether a server of names answers.
TEST(ConnectFailure, SaysThatTheNameIsUnknown) {
  const std::string why = ConnectFailure("rtspt://nohost.invalid:554", nullptr);
  EXPECT_TRUE(why.starts_with("the name of the host ")) << why;
}

TEST(ConnectFailure, SaysNothingOnceItIsNotWanted) {
  const auto cancel = gst::Adopt(g_cancellable_new());
  g_cancellable_cancel(cancel.get());
  EXPECT_EQ(ConnectFailure("rtsp://127.0.0.1:1", cancel.get()), "");
}

}  // namespace
}  // namespace gopmill
