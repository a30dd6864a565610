// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/stall.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace gopmill {

Duration StallWatch::Look(int socket, TimePoint now) {
  int waiting = 0;
  tcp_info info{};
  socklen_t size = sizeof(info);
  const bool known = ioctl(socket, SIOCOUTQ, &waiting) == 0 &&
                     getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0;
  const bool moved = !waiting_ || info.tcpi_bytes_acked != taken_;
  waiting_ = known && waiting > 0;
  if (!waiting_ || moved) {
    taken_ = info.tcpi_bytes_acked;
    moved_ = now;
  }
  return now - moved_;
}

}  // namespace gopmill
