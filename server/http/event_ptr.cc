// SPDX-License-Identifier: Apache-2.0
#include "server/http/event_ptr.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>

#include "base/status.h"

namespace gopmill {

void EventDeleter::operator()(event* pointer) const noexcept { event_free(pointer); }
void EventDeleter::operator()(event_base* pointer) const noexcept { event_base_free(pointer); }
void EventDeleter::operator()(evbuffer* pointer) const noexcept { evbuffer_free(pointer); }
void EventDeleter::operator()(evconnlistener* pointer) const noexcept {
  evconnlistener_free(pointer);
}
void EventDeleter::operator()(bufferevent* pointer) const noexcept { bufferevent_free(pointer); }

EvbufferPtr MakeEvbuffer() {
  EvbufferPtr buffer(evbuffer_new());
  GOPMILL_CHECK(buffer != nullptr);
  return buffer;
}

timeval ToTimeval(Duration duration) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  const auto rest = std::chrono::duration_cast<std::chrono::microseconds>(duration - seconds);
  return {.tv_sec = seconds.count(), .tv_usec = rest.count()};
}

}  // namespace gopmill
