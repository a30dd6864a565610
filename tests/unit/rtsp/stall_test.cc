// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/stall.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <thread>

#include "base/unique_fd.h"

namespace gopmill {
namespace {

using std::chrono::seconds;

// Two ends of a TCP connection on loopback; the first one does not block.
std::array<UniqueFd, 2> Connection() {
  UniqueFd listener(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(bind(listener.get(), any, size), 0);
  EXPECT_EQ(listen(listener.get(), 1), 0);
  EXPECT_EQ(getsockname(listener.get(), any, &size), 0);
  UniqueFd client(socket(AF_INET, SOCK_STREAM, 0));
  EXPECT_EQ(connect(client.get(), any, size), 0);
  UniqueFd server(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK));
  return {std::move(server), std::move(client)};
}

void Fill(int socket) {
  const std::array<char, 65536> bytes{};
  while (send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0) {
  }
}

class StallTest : public testing::Test {
 protected:
  // The kernel moves bytes for a moment after the last call: until it has come to rest.
  Duration LookUntil(Duration wanted) {
    const TimePoint deadline = SteadyNow() + seconds(10);
    Duration seen{};
    while ((seen = watch.Look(ends[0].get(), now)) != wanted && SteadyNow() < deadline) {
      std::this_thread::yield();
      now += seconds(1);
    }
    return seen;
  }
  std::array<UniqueFd, 2> ends = Connection();
  StallWatch watch;
  TimePoint now = TimePoint(seconds(1000));
};

TEST_F(StallTest, NothingThatWaitsIsNoStall) {
  EXPECT_EQ(watch.Look(ends[0].get(), now), Duration::zero());
  EXPECT_EQ(watch.Look(ends[0].get(), now + seconds(100)), Duration::zero());
}

TEST_F(StallTest, LastsUntilSomethingIsTaken) {
  Fill(ends[0].get());
  EXPECT_EQ(LookUntil(seconds(5)), seconds(5));
  std::array<char, 1 << 20> buffer{};
  EXPECT_GT(recv(ends[1].get(), buffer.data(), buffer.size(), MSG_WAITALL), 0);
  EXPECT_EQ(LookUntil(Duration::zero()), Duration::zero());
}

}  // namespace
}  // namespace gopmill
