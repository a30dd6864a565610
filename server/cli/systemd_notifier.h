// SPDX-License-Identifier: Apache-2.0
//
// What systemd (Type=notify), or whoever else set $NOTIFY_SOCKET, is told of the state of a server:
// the datagrams of sd_notify(3). Not by libsystemd, whose call waits while the socket is full.
//
// Guarantee: without $NOTIFY_SOCKET nothing happens. No call waits for the other side or fails:
// what cannot be sent is worth one line of the log, the first time, and SendAgain tries the newest
// state once more, since systemd ends a server whose READY=1 was lost.
//
// Each state has a line of text for `systemctl status`, which must be one line.
// Thread-safety: compatible; it is main's.
#pragma once

#include <sys/un.h>

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/unique_fd.h"

namespace gopmill::cli {

class SystemdNotifier {
 public:
  // Takes the variable out of the environment, so that no child speaks for the server. The
  // environment has no lock: make it before any other thread, and after the log.
  SystemdNotifier();

  // The server answers, or does so with its settings read again.
  void Ready(std::string_view status);
  // Settings are being read; Ready follows, whatever comes of it.
  void Reloading();
  // The end has begun, and takes `longest` at most. That is asked for beyond TimeoutStopSec; where
  // it is less, systemd keeps to that.
  void Stopping(Duration longest, std::string_view status);
  // Call it now and then.
  void SendAgain();

 private:
  void Send(std::string state);

  sockaddr_un address_ = {};
  socklen_t address_bytes_ = 0;
  UniqueFd socket_;  // none: nobody is told
  bool warned_ = false;
  std::string unsent_;  // the newest state, if it did not arrive
};

}  // namespace gopmill::cli
