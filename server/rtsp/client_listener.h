// SPDX-License-Identifier: Apache-2.0
//
// Takes RTSP clients in, while there are threads and descriptors for them (means.h) and the server
// has a place or nobody to send away for one. Who comes meanwhile waits in the kernel's queue, and
// the loop does not turn for it: the library's own listener is called again and again for a
// connection that it cannot accept.
//
// Thread-safety: compatible; Start and Stop while the loop does not run, the rest on it.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include <functional>
#include <utility>

#include "base/clock.h"
#include "base/log_limit.h"
#include "server/rtsp/gst_ptr.h"

namespace gopmill {

class ClientListener {
 public:
  // What becomes of who comes: taken in, left waiting while somebody is on his way out, or closed
  // without a word (the library gives each that it accepts a thread and descriptors at once).
  enum class Coming { kNow, kLater, kNever };

  // `server`, which knows where to listen, must outlive it.
  ClientListener(GstRTSPServer& server, std::function<Coming()> may_come)
      : server_(server), may_come_(std::move(may_come)) {}
  ~ClientListener() { Stop(); }
  ClientListener(const ClientListener&) = delete;
  ClientListener& operator=(const ClientListener&) = delete;

  // False if the port cannot be listened on.
  bool Start(GMainContext* loop);
  [[nodiscard]] int port() const;
  void Stop();

 private:
  static gboolean OnReadable(GSocket* socket, GIOCondition condition, gpointer self) noexcept;
  static gboolean OnRetry(gpointer self) noexcept;
  Coming Ask();
  void Watch();
  void Retry();
  void Attach(GSource* source);

  GstRTSPServer& server_;
  const std::function<Coming()> may_come_;
  GMainContext* loop_ = nullptr;
  gst::Object<GSocket> socket_;
  GSource* source_ = nullptr;  // the one of the two that is waited for
  LogLimit warnings_{std::chrono::minutes(1)};
};

}  // namespace gopmill
