// SPDX-License-Identifier: Apache-2.0
//
// One transcoded stream on its way into a GStreamer pipeline: a stream of Service, the queue of its
// coded packets, and one appsrc per track that takes from the queue when the pipeline wants more.
//
// A seek of the player reaches each appsrc by itself. The first one to hear of a new place stops
// the stream and opens another that starts there; the other track joins it.
//
//   egress --Push--> PacketQueue --Feed--> appsrc --> parser --> payloader --> gst-rtsp-server
//
// Thread-safety: safe. Feed runs on the egress thread and on the appsrcs' threads, one at a time
// for each track; seeks come from threads of gst-rtsp-server. The lock of a track is taken before
// that of the queue; neither is held while Service is called.
#pragma once

#include <gst/app/gstappsrc.h>
#include <gst/gst.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/thread_safety.h"
#include "server/api/service.h"
#include "server/rtsp/gst_ptr.h"
#include "server/rtsp/packet_queue.h"
#include "server/rtsp/rtsp_request.h"

namespace gopmill {

class Playback : public std::enable_shared_from_this<Playback> {
 public:
  // Opens the stream and waits until it is known what it is made of, or why it cannot be. The
  // stream holds the playback as well; what is returned here belongs to those who play it: once the
  // last of them has let go, the playback is closed. kUnavailable when `stop` ends the wait.
  static Result<std::shared_ptr<Playback>> Open(Service& service, RtspRequest request,
                                                const std::stop_token& stop);
  ~Playback();

  // A bin with an appsrc, parser and payloader for each track ("pay0", "pay1"), which plays: it
  // holds on to what Open has returned. Call once.
  static Result<GstElement*> MakeBin(const std::shared_ptr<Playback>& player);
  // Whether nothing more comes into this bin: its stream has ended. Only for bins made here.
  static bool Ended(GstElement& bin);
  // Whether its stream was stopped or failed, and what it had brought has been handed out: who
  // plays it shall not take that for the end. False for a publisher's bin.
  static bool Failed(GstElement& bin);
  // How long what this bin plays is; 0 = not known, as of a live source and of a publisher's bin.
  static double SecondsOf(GstElement& bin);
  // Stops the stream; does not wait.
  void Close();

 private:
  // Of a track since the last seek. Only kFed is fed. Behind an end, or where nobody takes it, it
  // is kEnded; where its stream failed, kFailing until what that had brought has been handed out.
  enum class Course { kFed, kEnded, kFailing, kFailed };
  struct Track {
    Mutex mutex;  // guards all below
    gst::Object<GstAppSrc> source GOPMILL_GUARDED_BY(mutex);
    // False from a seek until the pipeline asks for data: what is pushed in between would be
    // dropped by the flush that follows the seek.
    bool feeding GOPMILL_GUARDED_BY(mutex) = false;
    bool fed GOPMILL_GUARDED_BY(mutex) = false;  // a packet, since the last seek
    Course course GOPMILL_GUARDED_BY(mutex) = Course::kFed;
  };
  class Sink;
  friend struct AppsrcCallbacks;
  friend struct NextElement;

  Playback(Service& service, RtspRequest request);
  Status Begin(std::int64_t start_ns);
  void Seek(std::size_t track, std::int64_t start_ns);
  void SetUp(std::size_t index, const CodedTrack& coded, gst::Object<GstAppSrc> source);
  void OnNeedData(std::size_t track);
  void OnNotTaken(std::size_t track);
  void OnMarker(std::size_t track);
  void Feed(std::size_t track);
  void FeedLocked(Track& track, std::size_t index) GOPMILL_REQUIRES(track.mutex);
  void FillPlace(Track& track) GOPMILL_REQUIRES(track.mutex);
  void EndLocked(Track& track) GOPMILL_REQUIRES(track.mutex);
  void FailLocked(Track& track) GOPMILL_REQUIRES(track.mutex);
  bool failed();
  std::int64_t start_ns();

  Service& service_;
  const RtspRequest request_;
  const bool live_;  // a live source: no seeking, and its clock is that of its publisher
  // When the pipeline began to play, on its clock, which is SteadyNow; 0 = it has not.
  std::atomic<std::int64_t> began_ns_ = 0;
  PacketQueue queue_;
  std::array<Track, PacketQueue::kMaxTracks> tracks_;
  PlayableStream stream_;              // set before the pipeline exists
  std::vector<std::string> branches_;  // of the pipeline, one per track

  Mutex mutex_;  // guards all below
  std::optional<StreamId> stream_id_ GOPMILL_GUARDED_BY(mutex_);
  std::int64_t start_ns_ GOPMILL_GUARDED_BY(mutex_) = 0;
  std::array<bool, PacketQueue::kMaxTracks> joined_ GOPMILL_GUARDED_BY(mutex_) = {};
  bool closed_ GOPMILL_GUARDED_BY(mutex_) = false;
};

}  // namespace gopmill
