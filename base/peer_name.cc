// SPDX-License-Identifier: Apache-2.0
#include "base/peer_name.h"

#include <netdb.h>
#include <sys/socket.h>

#include <array>

namespace gopmill {

std::string PeerName(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  const bool known = getpeername(fd, address, &size) == 0 &&
                     getnameinfo(address, size, host.data(), host.size(), port.data(), port.size(),
                                 NI_NUMERICHOST | NI_NUMERICSERV) == 0 &&
                     (storage.ss_family == AF_INET || storage.ss_family == AF_INET6);
  if (!known) return "an unknown peer";
  const std::string name = host.data();
  return (storage.ss_family == AF_INET6 ? "[" + name + "]" : name) + ":" + port.data();
}

}  // namespace gopmill
