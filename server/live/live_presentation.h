// SPDX-License-Identifier: Apache-2.0
//
// One live source in one set of renditions, for all who watch it: what its streams have made
// lately, and the answers to what players ask.
//
// Each rendition is a stream of its own (StreamSession) with a sink from MakeSink; the first brings
// the sound tracks. Memory: segments within `max_bytes` over all tracks, the oldest go first.
//
// Thread-safety: safe. Sinks are used by the egress threads of their streams.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/thread_safety.h"
#include "server/api/stream_sink.h"
#include "server/live/live_playlist.h"
#include "server/live/live_request.h"
#include "server/live/live_segmenter.h"
#include "server/live/live_texts.h"
#include "server/live/live_thumbnails.h"
#include "server/segments/segment_delays.h"

namespace gopmill {

struct LiveSetup {
  LiveTerms terms;
  LiveCut cut;
  std::size_t max_bytes = 0;
  std::shared_ptr<LiveClock> clock;
  // LiveThumbnails::Make, with what the presentation does not know.
  using PictureMaker = std::function<Status(
      std::shared_ptr<const StreamPlan>, std::shared_ptr<const av::Packet>, LiveThumbnails::Done)>;
  PictureMaker make_thumbnail;
  // A thumbnail that could not be made for a reason that may pass is tried again after this.
  Duration thumbnail_patience = std::chrono::seconds(1);
  std::function<void()> on_change;  // something new can be answered; any thread, must not block
};

class LivePresentation : public std::enable_shared_from_this<LivePresentation> {
 public:
  explicit LivePresentation(LiveSetup setup);

  // Where stream number `rendition` goes.
  std::unique_ptr<StreamSink> MakeSink(std::size_t rendition);

  // What the source says in track number `track` of the terms' texts, on the clock of the packets
  // that the streams read. Any thread; before the pictures that it is shown with.
  // False if it is left out (LiveTexts::Add).
  bool OnCue(std::size_t track, LiveCue cue);

  // Nothing: not yet, ask again after on_change.
  std::optional<Result<MediaPart>> Answer(const LiveAsk& ask);

  // All its streams have ended, or one has failed.
  [[nodiscard]] bool over() const;
  // Why one of them has failed; nothing while none has.
  [[nodiscard]] std::optional<Error> failure() const;
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] const std::string& version() const { return setup_.terms.version; }
  [[nodiscard]] int target_seconds() const { return setup_.terms.window.target_seconds; }

 private:
  class Sink;
  using Answered = std::optional<Result<MediaPart>>;
  [[nodiscard]] std::size_t TrackOf(std::size_t track, std::size_t rendition) const;
  void OnTrack(std::size_t track, SegmentTrack described, const CodedTrack& coded);
  void OnBegin(std::size_t track, LiveSegment segment);
  void OnPart(std::size_t track, LivePart part);
  void OnEnd(std::size_t track, std::optional<LivePart> last, LiveKey key);
  void OnThumbnail(std::int64_t number, Result<std::string> made);
  void OnStreamEnd(const Status& status);
  void Rate(std::size_t track, SegmentTrack& described, const CodedTrack& coded) const;
  void KeepWithinBytes() GOPMILL_REQUIRES(mutex_);
  std::vector<LiveText> CutTexts(const LiveTrack& track) GOPMILL_REQUIRES(mutex_);
  void NotePeriod(const LiveSegment& segment) GOPMILL_REQUIRES(mutex_);
  void NoteDelay(std::size_t track) GOPMILL_REQUIRES(mutex_);

  Answered AnswerLocked(const LiveAsk& ask) GOPMILL_REQUIRES(mutex_);
  Answered Master(const LiveAsk& ask) GOPMILL_REQUIRES(mutex_);
  Answered Manifest(const LiveAsk& ask) GOPMILL_REQUIRES(mutex_);
  Answered Keys(const LiveAsk& ask) GOPMILL_REQUIRES(mutex_);
  Answered Texts(const LiveAsk& ask) GOPMILL_REQUIRES(mutex_);
  Answered TimedTexts(const LiveAsk& ask) const GOPMILL_REQUIRES(mutex_);
  Answered Thumbnails(const LiveAsk& ask) GOPMILL_REQUIRES(mutex_);
  Status MakeThumbnail(const LiveSegment& segment) GOPMILL_REQUIRES(mutex_);
  Answered Playlist(const LiveAsk& ask, std::size_t track) GOPMILL_REQUIRES(mutex_);
  [[nodiscard]] std::size_t RenderedAt(const LiveAsk& ask, std::size_t track) const
      GOPMILL_REQUIRES(mutex_);
  Answered Segment(const LiveAsk& ask, const LiveTrack& track) const GOPMILL_REQUIRES(mutex_);
  Answered NoSegment(const LiveAsk& ask, const LiveTrack& track) const GOPMILL_REQUIRES(mutex_);
  Answered Part(const LiveAsk& ask, const LiveTrack& track) const GOPMILL_REQUIRES(mutex_);
  Answered NotYet() const GOPMILL_REQUIRES(mutex_);
  MediaPart Text(const LiveAsk& ask, const char* type, std::string text) const
      GOPMILL_REQUIRES(mutex_);
  MediaPart Media(const LiveAsk& ask, std::shared_ptr<const std::string> bytes) const;
  LiveView View() const GOPMILL_REQUIRES(mutex_);
  bool AllHaveSegments() const GOPMILL_REQUIRES(mutex_);

  const LiveSetup setup_;

  mutable Mutex mutex_;                                       // guards all below
  std::vector<LiveTrack> tracks_ GOPMILL_GUARDED_BY(mutex_);  // video renditions, then sounds
  LiveTexts texts_ GOPMILL_GUARDED_BY(mutex_);
  std::vector<LivePeriod> periods_ GOPMILL_GUARDED_BY(mutex_);
  std::optional<LiveDashTimes> dash_ GOPMILL_GUARDED_BY(mutex_);
  SegmentDelays delays_ GOPMILL_GUARDED_BY(mutex_);
  std::int64_t revision_ GOPMILL_GUARDED_BY(mutex_) = 0;
  struct Rendered {
    std::int64_t revision = -1;
    std::shared_ptr<const std::string> text;
  };
  // Two of each track: its playlist and the delta update. Behind them those of the key frames, of
  // the thumbnails and of each track of text.
  std::vector<Rendered> rendered_ GOPMILL_GUARDED_BY(mutex_);
  std::shared_ptr<const StreamPlan> thumbnail_plan_ GOPMILL_GUARDED_BY(mutex_);
  std::set<std::int64_t> making_ GOPMILL_GUARDED_BY(mutex_);  // thumbnails of these segments
  std::size_t streams_left_ GOPMILL_GUARDED_BY(mutex_);
  std::optional<Error> failed_ GOPMILL_GUARDED_BY(mutex_);
};

}  // namespace gopmill
