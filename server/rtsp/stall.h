// SPDX-License-Identifier: Apache-2.0
//
// Whether somebody takes what is sent over a TCP connection: by what the kernel says of it, so that
// buffers of libraries in between do not matter.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace gopmill {

class StallWatch {
 public:
  // Looks at the socket: for how long bytes have waited of which none was taken; 0 if none wait.
  Duration Look(int socket, TimePoint now);

 private:
  std::uint64_t taken_ = 0;  // bytes, when they last moved
  TimePoint moved_ = {};
  bool waiting_ = false;
};

}  // namespace gopmill
