// SPDX-License-Identifier: Apache-2.0
//
// The newest segments of one rendition of a live presentation, in memory: those that its playlist
// lists, and for a while those that it listed. The newest segment may still grow, part by part.
//
// Thread-safety: compatible (plain values); guarded by the lock of its LivePresentation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "media/av_ptr.h"
#include "server/live/live_clock.h"
#include "server/segments/rendition.h"

namespace gopmill {

struct LivePart {
  std::shared_ptr<const std::string> bytes;
  std::int64_t ticks = 0;    // how long it lasts
  bool independent = false;  // it has a key frame
};

// The first picture of a segment alone, where LiveCut::keys asks for it.
struct LiveKey {
  std::shared_ptr<const std::string> bytes = {};  // a segment as long as the whole one
  std::shared_ptr<const av::Packet> packet = {};  // as the encoder made it
};

// A picture that was made of it: nothing yet, its JPEG, or why there is none.
using LiveThumbnail = std::optional<Result<std::shared_ptr<const std::string>>>;

// What is said during a segment, in one track of text.
struct LiveText {
  std::shared_ptr<const std::string> vtt = {};   // a segment of WebVTT: HLS
  std::shared_ptr<const std::string> ttml = {};  // a document: DASH
};

struct LiveSegment {
  std::int64_t number = 0;
  std::int64_t start = 0, ticks = 0;  // on the presentation's clock, ticks of the track
  WallTime wall = {};                 // when its first picture came
  std::int64_t stretch = 0;           // of LiveClock, that its first picture lies in
  std::int64_t publisher = 0;         // of that stretch
  std::int64_t period = 0;            // discontinuities so far, one in front of it included
  bool discontinuity = false;         // there is one in front of it
  std::int64_t zero_ns = 0;           // of that clock, on the one of the packets that are read
  bool complete = false;
  std::vector<LivePart> parts = {};               // empty once they are old
  std::shared_ptr<const std::string> whole = {};  // once complete; null where nothing has come
  LiveKey key = {};
  LiveThumbnail thumbnail = {};    // once somebody has asked for it
  TimePoint thumbnail_again = {};  // when one that failed may be tried again
  // What is said meanwhile, for each track of text; with the pictures of the first rendition.
  std::vector<LiveText> texts = {};

  [[nodiscard]] std::int64_t end() const { return start + ticks; }
};

// What a playlist may say and how much is kept.
struct LiveWindow {
  double listed_seconds = 60;
  int target_seconds = 2;  // EXT-X-TARGETDURATION
};

class LiveTrack {
 public:
  explicit LiveTrack(const LiveWindow& window) : window_(window) {}

  // Once, before the first segment.
  void Describe(SegmentTrack track, const CodedTrack& coded);
  // One segment after the other, numbers without a hole.
  void Begin(LiveSegment segment);
  void Add(LivePart part);
  void End(LiveKey key = {}, std::vector<LiveText> texts = {});
  // Nothing happens if that segment has been forgotten meanwhile.
  void SetThumbnail(std::int64_t number, Result<std::shared_ptr<const std::string>> made,
                    TimePoint again = TimePoint::max());
  // Forgets the oldest segment unless it is one of the newest kFewestSegments; false then.
  bool DropOldest();

  [[nodiscard]] bool known() const { return track_.timescale > 0; }
  [[nodiscard]] const SegmentTrack& track() const { return track_; }
  [[nodiscard]] const CodedTrack& coded() const { return coded_; }
  [[nodiscard]] const std::deque<LiveSegment>& segments() const { return segments_; }
  // Null where there is none (any more).
  [[nodiscard]] const LiveSegment* Find(std::int64_t number) const;
  [[nodiscard]] bool listed(const LiveSegment& segment) const {
    return segment.number >= first_listed_;
  }
  // Whether its parts are listed, too.
  [[nodiscard]] bool parts_listed(const LiveSegment& segment) const;
  // Numbers of the newest complete segment (-1 = none) and of the parts behind it.
  [[nodiscard]] std::int64_t last_complete() const;
  [[nodiscard]] std::size_t parts_behind() const;
  [[nodiscard]] double Seconds(std::int64_t ticks) const {
    return static_cast<double>(ticks) * track_.mux.time_base.ToDouble();
  }
  // That a part may have: of sound, what a packet lasts if that is more than anybody asked for.
  [[nodiscard]] double longest_part() const { return Seconds(longest_part_); }
  // The declared rate, or that of segments so far if it was higher; bits per second.
  [[nodiscard]] std::int64_t peak_bps() const { return std::max(track_.peak_bps, measured_bps_); }
  // Of the first pictures alone of all segments that are kept.
  [[nodiscard]] std::int64_t key_average_bps() const;
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  [[nodiscard]] std::int64_t NewestBps() const;
  void Trim();
  void DropOldParts();

  const LiveWindow window_;
  SegmentTrack track_;
  CodedTrack coded_;
  std::deque<LiveSegment> segments_;
  std::int64_t first_listed_ = 0;
  std::int64_t longest_part_ = 0;  // ticks: a packet of sound, or what has come
  std::int64_t measured_bps_ = 0;
  std::size_t bytes_ = 0;
};

// What the bound on bytes leaves: a player that has just begun needs three.
inline constexpr std::size_t kFewestSegments = 4;
// For so many target durations behind the newest segment the parts of one are listed (RFC 8216bis
// says at least three), and so much longer they can be had.
inline constexpr int kPartTargets = 3, kPartGraceTargets = 2;

}  // namespace gopmill
