// SPDX-License-Identifier: Apache-2.0
//
// What is known of an RTSP connection, attached to its GstRTSPClient. The lock of its own is needed
// because requests run on client threads and the sweep on the loop.
//
// Thread-safety: safe with its lock.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/thread_safety.h"
#include "base/unique_fd.h"
#include "server/rtsp/announcement.h"
#include "server/rtsp/gst_ptr.h"
#include "server/rtsp/playback.h"
#include "server/rtsp/stall.h"

namespace gopmill {

struct ClientState {
  ClientState(const std::stop_token& server_stop, std::string name, std::shared_ptr<void> here)
      : presence(std::move(here)),
        peer(std::move(name)),
        follow_server_(server_stop, Leave{this}) {}

  const std::shared_ptr<void> presence;  // goes last
  // Ends what its requests wait for: the client has gone, or the server ends. Not with `mutex`
  // held: who waits is woken on the caller's thread.
  std::stop_source leave;
  const std::string peer;  // its address and port, for the log
  Mutex mutex;             // guards all below
  // Where its requests are answered; null until it has a thread.
  gst::Loop loop GOPMILL_GUARDED_BY(mutex);
  // Its packets go there: a descriptor of our own, since its thread closes the library's at any
  // time. Not valid once it has ended, or the other end would not hear of that.
  UniqueFd socket GOPMILL_GUARDED_BY(mutex);
  // When a request of it has come, or has been answered; while `answering` it is not silent.
  TimePoint heard GOPMILL_GUARDED_BY(mutex) = SteadyNow();
  bool answering GOPMILL_GUARDED_BY(mutex) = false;
  // Of the answer being made: its status, 0 = what the library says, and what is wrong in words.
  int status GOPMILL_GUARDED_BY(mutex) = 0;
  std::string problem GOPMILL_GUARDED_BY(mutex);
  std::string held GOPMILL_GUARDED_BY(mutex);        // the session whose PAUSE is answered (Hold)
  std::string opened_url GOPMILL_GUARDED_BY(mutex);  // of `opened`
  std::shared_ptr<Playback> opened GOPMILL_GUARDED_BY(mutex);  // by DESCRIBE, for its media
  std::string described GOPMILL_GUARDED_BY(mutex);  // where the library keeps it (describe_path.h)
  // On the media of a live source, until the answer: MediaClaim for DESCRIBE, KeepPlaying for
  // PAUSE.
  std::shared_ptr<void> claim GOPMILL_GUARDED_BY(mutex);
  StallWatch stall GOPMILL_GUARDED_BY(mutex);
  bool announced GOPMILL_GUARDED_BY(mutex) = false;    // it wants to publish
  bool closed GOPMILL_GUARDED_BY(mutex) = false;       // the server has been told of its end
  bool told_to_end GOPMILL_GUARDED_BY(mutex) = false;  // by CloseSoon
  bool sent_away GOPMILL_GUARDED_BY(mutex) = false;    // for another client
  bool stalled GOPMILL_GUARDED_BY(mutex) = false;  // it is being cut for that, and the log says so
  // That it has begun, by identifier; the pool counts them until they are removed from it.
  std::vector<std::string> sessions GOPMILL_GUARDED_BY(mutex);
  Publication publication GOPMILL_GUARDED_BY(mutex);

 private:
  struct Leave {
    ClientState* state;
    void operator()() const { state->leave.request_stop(); }
  };
  const std::stop_callback<Leave> follow_server_;
};

// Once, when the client has come. `server_stop` ends what its requests wait for; `presence` is let
// go once nothing of the client is left: media of a DESCRIBE go with it, behind "closed".
void AttachState(GstRTSPClient* client, const std::stop_token& server_stop,
                 std::shared_ptr<void> presence = nullptr);
ClientState* StateOf(GstRTSPClient* client);
// On its own thread: where it sends to may be another place since it came, in a tunnel by HTTP.
void NoteSocket(GstRTSPClient& client, ClientState& state);
bool HasSession(GstRTSPClient& client);
// `claim`, to be let go without the lock.
std::shared_ptr<void> TakeClaim(ClientState& state);
// Of the request that the calling thread answers; null outside of one.
ClientState* CurrentState();

// The next answer of this client says what is wrong, with the status for it, or one of its own.
void SetProblem(ClientState& state, const Error& error);
void SetProblem(ClientState& state, const Error& error, GstRTSPStatusCode status);
// The same for a user who is not known or lacks a role: 401, 403.
void SetRefused(ClientState& state, GstRTSPStatusCode status);

}  // namespace gopmill
