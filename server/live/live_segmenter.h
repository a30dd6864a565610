// SPDX-License-Identifier: Apache-2.0
//
// The end of a live stream's way out that makes segments: it cuts the coded packets into CMAF
// segments and those into parts, each handed on as soon as its last packet is there; or into MPEG
// transport streams, each in one part.
//
// A segment ends with a GOP, so that the next begins with a key frame: with the one that makes it
// long enough, or with the last one before the source broke off. Sound is cut at the same times;
// a track that pauses has empty segments, and its silence is not made up for when it comes back.
// Where and what depends on the packets alone, so that renditions of one source agree.
//
// Clock: 0 is the first picture. Thread-safety: thread-affine to the stream's egress thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "media/muxer.h"
#include "media/ts_counters.h"
#include "server/live/live_track.h"

namespace gopmill {

// Coded sound that waits for the pictures next to it, of all tracks; beyond it the oldest goes.
inline constexpr std::size_t kMaxWaitingSound = std::size_t{4} << 20U;

// Hears of what has been cut, in order for each track. `track`: 0 = pictures, then the sound tracks
// of the stream. Called on the egress thread.
class LiveTrackSink {
 public:
  virtual ~LiveTrackSink() = default;
  virtual void OnTrack(std::size_t track, SegmentTrack described, const CodedTrack& coded) = 0;
  virtual void OnBegin(std::size_t track, LiveSegment segment) = 0;
  virtual void OnPart(std::size_t track, LivePart part) = 0;
  // With the last part, if there is one: a short part must not be seen before it is the last. And
  // with LiveSegment::key.
  virtual void OnEnd(std::size_t track, std::optional<LivePart> last, LiveKey key) = 0;
};

struct LiveCut {
  Container container = Container::kMp4;  // or kTs: no parts of a segment
  std::int64_t part_frames = 6;      // pictures of a part; one of sound is no longer, or one packet
  std::int64_t segment_frames = 54;  // a segment ends with the first GOP that makes it so long
  std::int64_t longest_frames = 66;  // that a segment has at most; sound later than that is over
  bool keys = false;                 // the first picture of each segment also alone
};

// Without low delay: pictures of a unit, in parts; each unit comes with a key frame, and parts come
// unit by unit.
inline constexpr int kUnitParts = 2;

// With low delay a segment is a GOP; else it is a number of units, and a unit of parts. Of a source
// with as many pictures per second as `source_fps`.
struct LiveCutTerms {
  double segment_seconds = 2, part_seconds = 0.2;
  Rational fps = {}, source_fps = {};
  bool low_delay = true;
};
LiveCut LiveCutFor(const LiveCutTerms& terms);
// Pictures of a part.
std::int64_t PartFrames(double part_seconds, Rational fps);
// EXT-X-TARGETDURATION: no segment of the cut is longer when it is rounded, nor is one of sound,
// which may have a packet more. `sample_rate`: 0 without sound.
int TargetSecondsFor(const LiveCut& cut, Rational fps, int sample_rate);

// A track on its way into parts.
struct LiveCutter {
  std::size_t number = 0;  // as LiveTrackSink has it
  SegmentTrack track;
  std::vector<av::Packet> pending;  // of the next part
  std::int64_t ticks = 0;           // their length
  bool independent = false;         // one of them is a key frame
  bool open = false;                // a segment has been begun
  bool first = true;                // no part of it has been cut
  std::int64_t chunks = 0, packets = 0, bytes = 0;
  TsCounters counters;             // of transport streams
  std::deque<av::Packet> waiting;  // sound: for the pictures next to it
};

class LiveSegmenter final : public PacketOutput {
 public:
  // Video first, then sound tracks if there are some. `sink` outlives it.
  static Result<std::unique_ptr<PacketOutput>> Open(std::span<const MuxTrack> tracks,
                                                    const LiveCut& cut,
                                                    std::shared_ptr<LiveClock> clock,
                                                    LiveTrackSink& sink);

  Status Write(std::size_t track, av::Packet packet) override;
  Status EndFragment() override { return ReleaseSounds(end_frame_); }
  Status EndUnit() override;
  Status Finish() override;
  [[nodiscard]] bool merged() const override { return false; }
  [[nodiscard]] std::int64_t bytes_written() const override;
  [[nodiscard]] std::int64_t packets_written(std::size_t track) const override;

 private:
  LiveSegmenter(const LiveCut& cut, std::shared_ptr<LiveClock> clock, LiveTrackSink& sink)
      : cut_(cut), clock_(std::move(clock)), sink_(sink) {}
  Status AddTrack(const MuxTrack& track, const CodedTrack& coded);
  Status WriteVideo(av::Packet packet);
  void WriteSound(LiveCutter& sound, av::Packet packet);
  av::Packet TakeWaiting(LiveCutter& sound);
  Status ReleaseSounds(std::int64_t end_frame);
  void SkipPause(LiveCutter& sound);
  Status ReleaseSound(LiveCutter& sound, std::int64_t end_frame);
  void Add(LiveCutter& cutter, av::Packet packet);
  [[nodiscard]] bool in_parts() const { return cut_.container == Container::kMp4; }
  Status CutPart(LiveCutter& cutter);
  Result<LivePart> MakePart(LiveCutter& cutter);
  Result<std::string> Contain(const SegmentTrack& track, std::int64_t sequence, bool first,
                              std::vector<av::Packet> packets) const;
  void Begin(LiveCutter& cutter, std::int64_t start);
  Status Close(std::int64_t end_frame);
  Status CloseTrack(LiveCutter& cutter);
  Result<LiveKey> MakeKey();
  [[nodiscard]] LiveClock::Stretch StretchAt(std::int64_t frame) const;
  [[nodiscard]] std::int64_t NanosOf(const LiveCutter& cutter, std::int64_t ticks) const;

  const LiveCut cut_;
  const std::shared_ptr<LiveClock> clock_;
  LiveTrackSink& sink_;
  LiveCutter video_;
  std::deque<LiveCutter> sounds_;
  Rational video_time_base_;  // of the packets given to Write
  std::optional<std::int64_t> origin_;
  std::int64_t origin_ns_ = 0;                    // where 0 lies on the reader's clock
  std::int64_t begin_frame_ = 0, end_frame_ = 0;  // of the open segment; its end so far
  LiveSegment segment_;                           // what all tracks' segments have in common
  av::Packet key_;                                // first picture of the open segment (keys)
  std::int64_t next_number_ = 0;
  std::int64_t stretch_ = 0, period_ = 0;
  std::size_t waiting_bytes_ = 0;  // of sound
};

}  // namespace gopmill
