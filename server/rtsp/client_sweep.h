// SPDX-License-Identifier: Apache-2.0
//
// Sends RTSP clients away that nobody needs, once a second: connections without a session that have
// been silent for long or are more than kSpareConnections, clients over TCP that take nothing,
// players whose stream has failed, publishers whose source is over. Who waits for an answer is not
// silent and not counted; where its connection is closed at the other end, it waits no longer. Also
// ends sessions that have timed out.
//
// Thread-safety: compatible; runs on the server's loop.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include "base/clock.h"
#include "server/rtsp/gst_ptr.h"

namespace gopmill {

struct ClientState;

class ClientSweep {
 public:
  // `server` must outlive it. Times as in RtspOptions.
  ClientSweep(GstRTSPServer& server, Duration idle_timeout, Duration stall_timeout)
      : server_(server), idle_timeout_(idle_timeout), stall_timeout_(stall_timeout) {}
  ~ClientSweep() { Stop(); }
  ClientSweep(const ClientSweep&) = delete;
  ClientSweep& operator=(const ClientSweep&) = delete;

  void Start(GMainContext* loop);
  void Stop();
  // Sends away who has been silent for longest without a session, for who wants to come. Whether
  // anybody is on his way out.
  bool MakeRoom();

 private:
  struct Silent {  // for longest
    gst::Object<GstRTSPClient> client;
    TimePoint heard = TimePoint::max();
    bool leaving = false;  // another one is
  };
  static GstRTSPFilterResult FindSilent(GstRTSPServer* server, GstRTSPClient* client,
                                        gpointer silent) noexcept;
  static gboolean Run(gpointer self) noexcept;
  static GstRTSPFilterResult Look(GstRTSPServer* server, GstRTSPClient* client,
                                  gpointer self) noexcept;
  bool Unwanted(GstRTSPClient& client);
  bool Stalled(ClientState& state) const;

  GstRTSPServer& server_;
  const Duration idle_timeout_, stall_timeout_;
  GSource* source_ = nullptr;
  int without_session_ = 0;  // seen in this round
};

}  // namespace gopmill
