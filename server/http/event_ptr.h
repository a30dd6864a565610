// SPDX-License-Identifier: Apache-2.0
//
// Owners of libevent objects, one alias each. No libevent header is needed to include this one.
//
// Thread-safety: thread-affine to the event loop that the objects belong to; a plain evbuffer is
// compatible.
#pragma once

#include <chrono>
#include <memory>

#include "base/clock.h"

struct event;
struct event_base;
struct evbuffer;
struct evconnlistener;
struct bufferevent;
struct timeval;

namespace gopmill {

struct EventDeleter {
  void operator()(event* pointer) const noexcept;
  void operator()(event_base* pointer) const noexcept;
  void operator()(evbuffer* pointer) const noexcept;
  void operator()(evconnlistener* pointer) const noexcept;
  void operator()(bufferevent* pointer) const noexcept;
};

using EventPtr = std::unique_ptr<event, EventDeleter>;
using EventBasePtr = std::unique_ptr<event_base, EventDeleter>;
using EvbufferPtr = std::unique_ptr<evbuffer, EventDeleter>;
using ListenerPtr = std::unique_ptr<evconnlistener, EventDeleter>;
using BuffereventPtr = std::unique_ptr<bufferevent, EventDeleter>;

// An empty buffer; running out of memory here ends the program.
EvbufferPtr MakeEvbuffer();

timeval ToTimeval(Duration duration);

}  // namespace gopmill
