// SPDX-License-Identifier: Apache-2.0
//
// What a sender announces (an SDP: RFC 2326 section 10.3): the streams of its session and the
// elements that take them apart.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <gst/rtsp-server/rtsp-session.h>
#include <gst/sdp/gstsdpmessage.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "server/rtsp/gst_ptr.h"
#include "server/rtsp/reception.h"

namespace gopmill {

// Streams of one session. The first video and all sound of codecs that we take are used.
inline constexpr unsigned kMaxAnnouncedStreams = 16;

struct Announcement {
  std::vector<Reception::Stream> streams;   // that are used
  std::string description;                  // of a bin with elements for all, as gst_parse takes it
  std::vector<std::string> unusable;        // what the others are: "audio of G726-32"
  std::vector<std::string> unusable_audio;  // encodings of sound among them
  [[nodiscard]] std::string unusable_text() const;
};

// Of a publisher, who can send something else: kInvalidArgument for what is no SDP, and for numbers
// out of bounds (rtp_bounds); kUnsupported if no stream of video can be used.
Result<Announcement> ParseAnnouncement(std::span<const std::uint8_t> sdp);
// Of a peer that is fetched from, who cannot: streams that are out of bounds or no RTP/AVP are left
// out like those of codecs that are not taken.
Result<Announcement> ReadAnnouncement(const GstSDPMessage& sdp);

// What takes an announced session: its elements, in a bin with no pads, and what they fill.
struct Publication {
  std::shared_ptr<Reception> reception;
  gst::Object<GstElement> bin;
  gst::Object<GstRTSPSession> session = {};  // does not expire while it is published; may be null
  // Of a client that has announced: the name that it will take, until then, and by when it has to.
  std::string name = {};
  TimePoint take_by = TimePoint::max();
};
// A sender that brings nothing for `silence` has ended.
Result<Publication> MakePublication(const Announcement& announcement, Duration silence);
// How long packets that came by UDP may be waited for behind a gap. Those of TCP have none.
inline constexpr guint kJitterMilliseconds = 200;

}  // namespace gopmill
