// SPDX-License-Identifier: Apache-2.0
//
// The streams of an RTP sender on their way out of a GStreamer pipeline: what a probe in front of
// each depayloader does to their times, and an appsink per track that fills a PacketFeed.
//
//   RTP --probe: RtpClock--> depayloader --> parser --> appsink --Push--> PacketFeed --> LiveSource
//
// The probe lets nothing through that the elements behind it could come to harm by (RtpGuard): a
// stream that turns into one ends the feed.
//
// Times of packets come from the RTP times alone (RtpClock), not from the jitter buffer, whose
// smoothing would show as gaps of the sound.
//
// Thread-safety: safe. Callbacks run on threads of the pipeline.
#pragma once

#include <gst/app/gstappsink.h>
#include <gst/gst.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/thread_safety.h"
#include "media/packet_feed.h"
#include "server/rtsp/receive_caps.h"
#include "server/rtsp/rtp_clock.h"

namespace gopmill {

// What has come of a picture that is not whole: a sender that never ends it is cut here.
inline constexpr std::size_t kMaxUnfinishedBytes = std::size_t{64} << 20U;
// What has come of a track of sound since the last that was whole. Its packets are dropped from
// here on, the rest goes on: some cameras send sound that is taken and never comes out.
inline constexpr std::size_t kMaxUnfinishedSound = std::size_t{4} << 20U;

class Reception : public std::enable_shared_from_this<Reception> {
 public:
  struct Stream {
    std::size_t number = 0;  // in its session
    Receiver receiver;
    std::string language, title;  // of sound; empty = unknown
  };
  // One stream of pictures, any number of sound. A sender that brings nothing for `silence` has
  // ended. `unusable_audio`: sound that it sends besides, for SourceInfo.
  static std::shared_ptr<Reception> Make(std::vector<Stream> streams, Duration silence,
                                         std::vector<std::string> unusable_audio = {});
  ~Reception();  // ends the feed
  Reception(const Reception&) = delete;
  Reception& operator=(const Reception&) = delete;

  [[nodiscard]] const std::shared_ptr<PacketFeed>& feed() const { return feed_; }
  [[nodiscard]] bool Uses(std::size_t number) const { return TrackOf(number).has_value(); }
  // Takes what a stream's elements ("depayN", "sinkN" of a bin) bring.
  void Attach(std::size_t number, GstElement* bin);
  // Listens to the reports of its sender; `session` is the RTPSession of that stream. A second call
  // for a stream does nothing.
  void ListenTo(std::size_t number, GObject* session);
  // Makes the pipeline that `element` is in fit to receive (PrepareToReceive), with losses counted
  // by the feed. Before the first packet; a second call does nothing.
  void PreparePipeline(GstElement* element);
  // Everything that has been received goes out to the feed, then the feed ends. `bin` is the one
  // that was attached, in a pipeline that still runs. Waits, at most `patience`.
  void Drain(GstElement* bin, Duration patience);

 private:
  struct Callback;
  Reception(std::vector<Stream> streams, Duration silence, std::vector<std::string> unusable_audio);
  [[nodiscard]] std::optional<std::size_t> TrackOf(std::size_t number) const;
  struct Intake;
  static GstPadProbeReturn OnRtp(GstPad* pad, GstPadProbeInfo* info, gpointer intake) noexcept;
  GstPadProbeReturn OnCaps(Intake& intake, const GstEvent* event);
  GstPadProbeReturn OnPacket(std::size_t track, GstPadProbeInfo& info);
  bool Admit(std::size_t track, std::size_t size) GOPMILL_REQUIRES(mutex_);
  static GstFlowReturn OnSample(GstAppSink* sink, gpointer callback) noexcept;
  static void OnEnd(GstAppSink* sink, gpointer callback) noexcept;
  static void OnReport(GObject* session, GstBuffer* buffer, gpointer callback) noexcept;
  GstFlowReturn Take(std::size_t track, GstSample& sample);

  const std::vector<Stream> streams_;  // their places are the numbers of the feed's tracks
  const std::shared_ptr<PacketFeed> feed_;
  std::atomic<bool> prepared_ = false;

  Mutex mutex_;  // guards all below
  CondVar changed_;
  RtpClock clock_ GOPMILL_GUARDED_BY(mutex_);
  std::vector<std::size_t> unfinished_ GOPMILL_GUARDED_BY(mutex_);  // bytes, by stream
  std::vector<bool> ended_ GOPMILL_GUARDED_BY(mutex_);              // by stream
  std::vector<bool> listens_ GOPMILL_GUARDED_BY(mutex_);            // by stream
};

}  // namespace gopmill
