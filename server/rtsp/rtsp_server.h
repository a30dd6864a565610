// SPDX-License-Identifier: Apache-2.0
//
// The RTSP front end (RFC 2326): plays any movie of the library, transcoded, at the rate of a
// player, and takes live sources from publishers. GStreamer's gst-rtsp-server speaks the protocol;
// it is given coded packets, or gives them, and only puts them into RTP or takes them out.
// docs/API.md is what its users read.
//
// A build without GStreamer has this interface too: Start says that RTSP is not built.
//
// Thread-safety: Start, SetUsers, Stop and the destructor belong to one owner thread. Service must
// outlive it.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "config/users.h"
#include "server/api/service.h"

namespace gopmill {

// Connections beside those that play: each costs a socket, a thread and a little memory. Where
// there are more than sessions and the first, who has been silent for longest goes for who comes;
// those that wait for no answer and are more go within a second in any case. None is taken while
// there are as many more than sessions as the second says.
inline constexpr int kSpareConnections = 64;
inline constexpr int kMaxSpareConnections = 128;

struct RtspOptions {
  std::string address = "127.0.0.1";
  int port = 8554;  // 0 takes any free one: see RtspServer::port
  // Players at once; more get 503. So do more that wait for a live source which another player
  // waits for.
  int max_sessions = 64;
  // A player's session without any sign of life from its client ends after this: RTCP or a
  // request. That of a publisher lasts as long as it sends.
  Duration session_timeout = std::chrono::seconds(60);
  // A client over TCP that takes no byte for this long while bytes wait for it is cut.
  Duration stall_timeout = std::chrono::seconds(15);
  Users users;  // none: everybody may play and publish
  // A publisher that sends nothing for this long has left.
  Duration publisher_timeout = std::chrono::seconds(10);
  // A connection without a session ends when it has been silent for this long; while a request of
  // it is answered, it is not.
  Duration idle_timeout = std::chrono::seconds(30);
};

class RtspServer {
 public:
  static bool Built();
  // Listens and serves at once. kUnsupported when RTSP is not built or a GStreamer element is
  // missing on this machine, kUnavailable if the port is taken.
  static Result<std::unique_ptr<RtspServer>> Start(const RtspOptions& options, Service& service);
  ~RtspServer();  // stops
  RtspServer(const RtspServer&) = delete;
  RtspServer& operator=(const RtspServer&) = delete;

  [[nodiscard]] int port() const;
  // From the next DESCRIBE, SETUP or ANNOUNCE on these are the users, for all clients; sessions
  // that there are go on. Once there are users, there must be some for ever: without one nobody
  // gets in. Blocks until it is so. Not after Stop.
  void SetUsers(const Users& users);
  // Ends all sessions and the threads, however long one of them takes to come back from GStreamer:
  // up to 20 s where a media gets no packets. May be called again.
  void Stop();

 private:
  class Impl;
  explicit RtspServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace gopmill
