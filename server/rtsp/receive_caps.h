// SPDX-License-Identifier: Apache-2.0
//
// The way back of track_caps: how an RTP stream that somebody sends is taken apart, and what
// GStreamer's caps of the result mean as a coded track.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "media/packet_output.h"

namespace gopmill {

// What is done with one stream of a session: the elements that take it apart.
struct Receiver {
  std::size_t number = 0;  // of the stream in its session
  TrackKind kind = TrackKind::kVideo;
  std::uint32_t clock_rate = 0;
  std::string branch;  // "rtph264depay name=depay0 ! ... ! appsink name=sink0"
  friend bool operator==(const Receiver&, const Receiver&) = default;
};

// `caps` as an SDP describes a stream ("application/x-rtp, ..."). Its encoding in upper case; empty
// if none is said.
std::string EncodingOf(const GstCaps& caps);
// `number` of the stream in its session. Nothing for a codec that is not taken. The numbers of the
// description are not looked at: see rtp_bounds.
std::optional<Receiver> ReceiverOf(const GstCaps& caps, std::size_t number);
// A branch that throws a stream away.
std::string IgnoringBranch(std::size_t number);

// What a decoder has to know; nothing if the caps are of none of our branches.
std::optional<CodedTrack> CodedTrackOf(const GstCaps& caps);

}  // namespace gopmill
