// SPDX-License-Identifier: Apache-2.0
//
// The listening socket. When the process has no file descriptor left and its owner can spare none,
// accepting pauses for a moment instead of spinning, and goes on by itself; who connects meanwhile
// waits in the kernel's queue. The log has a line about it once a minute.
//
// Thread-safety: thread-affine to the loop once it runs; Open may be called before.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/log_limit.h"
#include "base/status.h"
#include "server/http/event_ptr.h"
#include "server/http/http_options.h"

struct sockaddr;

namespace gopmill {

class Listener {
 public:
  // `accepted` gets each connected socket (non-blocking, close-on-exec) and owns it; `starved` is
  // told when one could not be accepted, and says whether it has made room for it.
  struct Callbacks {
    std::function<void(int fd)> accepted;
    std::function<bool()> starved;
  };

  static Result<std::unique_ptr<Listener>> Open(event_base* base, const HttpOptions& options,
                                                Callbacks callbacks);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  [[nodiscard]] int port() const { return port_; }

 private:
  explicit Listener(Callbacks callbacks);
  static void OnAccept(evconnlistener* listener, int fd, sockaddr* address, int length,
                       void* self) noexcept;
  static void OnError(evconnlistener* listener, void* self) noexcept;
  static void OnRetry(int fd, short what, void* self) noexcept;

  const Callbacks callbacks_;
  int port_ = 0;
  LogLimit warnings_{std::chrono::minutes(1)};
  EventPtr retry_;
  ListenerPtr listener_;
};

}  // namespace gopmill
