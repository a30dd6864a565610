// SPDX-License-Identifier: Apache-2.0
#include "server/http/listener.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/log.h"

namespace gopmill {
namespace {

constexpr int kBacklog = 512;
constexpr std::chrono::milliseconds kRetryDelay(100);

struct Address {
  sockaddr_storage storage{};
  int length = 0;
};

Status ParseAddress(const HttpOptions& options, Address& address) {
  if (options.port < 0 || options.port > 65535) {
    return InvalidArgument("http-port", "The port is out of range.", "0 to 65535");
  }
  const auto port = htons(static_cast<std::uint16_t>(options.port));
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (inet_pton(AF_INET, options.address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = port;
    address.length = sizeof *v4;
  } else if (inet_pton(AF_INET6, options.address.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = port;
    address.length = sizeof *v6;
  } else {
    return InvalidArgument("address", "'" + options.address + "' is not an IP address.",
                           "an IPv4 or IPv6 literal");
  }
  return OkStatus();
}

int BoundPort(evconnlistener* listener) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  getsockname(evconnlistener_get_fd(listener), reinterpret_cast<sockaddr*>(&storage), &length);
  if (storage.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port);
  }
  return ntohs(reinterpret_cast<sockaddr_in*>(&storage)->sin_port);
}

}  // namespace

Listener::Listener(Callbacks callbacks) : callbacks_(std::move(callbacks)) {}

Result<std::unique_ptr<Listener>> Listener::Open(event_base* base, const HttpOptions& options,
                                                 Callbacks callbacks) {
  Address address;
  GOPMILL_RETURN_IF_ERROR(ParseAddress(options, address));
  std::unique_ptr<Listener> self(new Listener(std::move(callbacks)));
  self->retry_.reset(event_new(base, -1, 0, &OnRetry, self.get()));
  const unsigned flags = LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE;
  self->listener_.reset(evconnlistener_new_bind(base, &OnAccept, self.get(), flags, kBacklog,
                                                reinterpret_cast<sockaddr*>(&address.storage),
                                                address.length));
  if (self->listener_ == nullptr || self->retry_ == nullptr) {
    const int native = errno;
    return Error{.code = Code::kUnavailable,
                 .message = "Port " + std::to_string(options.port) + " of " + options.address +
                            " cannot be listened on: " + std::strerror(native) + ".",
                 .parameter = "http-port",
                 .native = native};
  }
  evconnlistener_set_error_cb(self->listener_.get(), &OnError);
  self->port_ = BoundPort(self->listener_.get());
  return self;
}

void Listener::OnAccept(evconnlistener* /*listener*/, int fd, sockaddr* /*address*/, int /*length*/,
                        void* self) noexcept {
  static_cast<Listener*>(self)->callbacks_.accepted(fd);
}

// Out of file descriptors or memory. The socket stays readable, so without a pause the loop would
// spin and starve the connections that could make room.
void Listener::OnError(evconnlistener* listener, void* pointer) noexcept {
  auto* self = static_cast<Listener*>(pointer);
  if (const int native = errno; self->warnings_.Allows()) {
    spdlog::warn("http: no room to accept connections, idle ones are closed for it: {}",
                 std::strerror(native));
  }
  if (self->callbacks_.starved()) return;
  evconnlistener_disable(listener);
  const timeval delay = ToTimeval(kRetryDelay);
  event_add(self->retry_.get(), &delay);
}

void Listener::OnRetry(int /*fd*/, short /*what*/, void* self) noexcept {
  evconnlistener_enable(static_cast<Listener*>(self)->listener_.get());
}

}  // namespace gopmill
