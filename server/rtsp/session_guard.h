// SPDX-License-Identifier: Apache-2.0
//
// What stands in front of the sessions of a GStreamer rtpbin. A session keeps whoever a packet
// names (an SSRC) for minutes, or the longer the more there are, and makes a jitter buffer with
// threads of its own for who sends RTP or a sender's report; GLib ends the process where it gets no
// thread. Anybody may send to a port of UDP, and a client may name whom it likes. So:
//  - of a publisher, a track has one sender, who sends packets: those of others are dropped, until
//    its own says that it leaves (BYE) or has been silent for long, and the next one goes on,
//  - of a peer that is fetched from, a track has kMostFetchedSenders,
//  - players send no sender's reports; that of a publisher may come before its packets, and is
//    heard by who listens to the session, not by the session itself,
//  - nobody reports under our own SSRC: the session would leave it, and tell all players so (BYE),
//  - no more are known to a session than so many, of players from one network
//    ReporterPlaces::kMostOfNetwork; packets of more are dropped. Reports keep a player's session
//    alive: it times out where those are dropped and no requests come.
//
// Thread-safety: safe.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <functional>
#include <span>

namespace gopmill {

// Sources that a session knows. Of a track that is received: its sender, ourselves and a few who
// were there before. Of one that is played: all its players.
inline constexpr unsigned kMostAtReceiver = 16;
inline constexpr unsigned kMostAtPlayers = 4096;
// The second that sends packets ends the connection to the peer, which is made anew (PullSession);
// some send reports under another SSRC than their packets.
inline constexpr unsigned kMostFetchedSenders = 4;

enum class SessionUse { kPublish, kFetch, kPlay };
// Before the bin has a session.
void GuardSessions(GstElement* rtpbin, SessionUse use);

// Whether a packet of RTCP is whole and `allowed` lets all parts of it through, by the type of each
// and the SSRC that it comes from; one that comes from several is not.
bool AllowReports(std::span<const std::uint8_t> rtcp,
                  const std::function<bool(std::uint8_t type, std::uint32_t from)>& allowed);

}  // namespace gopmill
