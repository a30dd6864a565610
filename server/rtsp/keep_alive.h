// SPDX-License-Identifier: Apache-2.0
//
// Tells a peer that is fetched from over TCP that somebody is still there. Without a word, cameras
// end a session at its timeout, which is 60 seconds unless they say another (RFC 2326, section
// 12.37). rtspsrc of GStreamer 1.22 sends none while packets come over the connection itself, and
// does not say what the timeout is.
//
// It asks for no parameter in particular (GET_PARAMETER without a body, section 10.8). A peer that
// refuses is logged once and asked again; one that does not list the method is left alone.
//
// Thread-safety: Make and Follow belong to one thread at a time; the rest is done on that which
// reads the connection.
#pragma once

#include <gst/gst.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"

namespace gopmill {

// Short enough for timeouts of 30 seconds.
inline constexpr std::chrono::seconds kKeepAliveInterval(20);

class KeepAlive : public std::enable_shared_from_this<KeepAlive> {
 public:
  // `peer` is an rtspsrc over TCP; `name` of the live source is for the log.
  static std::shared_ptr<KeepAlive> Make(GstElement* peer, std::string name);
  // The packets of a stream set the pace; `manager` is the rtpbin of the peer.
  void Follow(GstElement* manager, unsigned number);

 private:
  KeepAlive(GstElement* peer, std::string name) : peer_(peer), name_(std::move(name)) {}
  void Ask();
  static GstPadProbeReturn OnPacket(GstPad* pad, GstPadProbeInfo* info, gpointer self) noexcept;
  static void OnAnswer(GstPromise* promise, gpointer self) noexcept;

  GstElement* const peer_;  // that the pads of the probes are in
  const std::string name_;
  TimePoint next_ = SteadyNow() + kKeepAliveInterval;
  std::atomic<bool> waits_ = false;  // for an answer
  std::atomic<bool> logged_ = false, over_ = false;
};

}  // namespace gopmill
