// SPDX-License-Identifier: Apache-2.0
//
// A live source: the packets of whoever publishes under a name, handed to any number of readers.
//
// A reader begins at a key frame and gets everything from there on, on one clock that never jumps:
// what a publisher's own times do, a publisher that comes back, and packets that were dropped all
// close up behind the last packet that was read. A reader that does not keep up loses whole GOPs,
// the oldest first, and never more delay of pictures than kLiveQueueNanos
// (or kLiveQueuePictures); what it lost is counted.
//
// That clock is the reader's own and begins at zero, or it is the source's: then all readers that
// have lost nothing see equal times, and their output grids lie at the same pictures (LiveJoin), so
// that they can be decoded together (decode_group.h).
//
// When the publisher has gone, readers wait for the next one. That one may send other codecs, sizes
// and sounds, and a publisher may change its coding while it sends: readers go on with the tracks
// that they have begun with (PacketSource::coded, FollowSource).
//
// Thread-safety: safe. Packets are shared by reference and never changed here.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/thread_safety.h"
#include "codec/picture_store.h"
#include "media/packet_source.h"
#include "media/target.h"
#include "media/timestamp_repair.h"
#include "server/api/pull_state.h"

namespace gopmill {

// How far from the newest picture a cue may begin; one that lies farther is left out.
inline constexpr std::int64_t kCueReachNanos = 60'000'000'000;
// What may wait for one reader, bytes behind the packet that it reads next: beyond either, GOPs are
// dropped.
inline constexpr std::size_t kLiveQueueBytes = std::size_t{8} << 20U;
inline constexpr std::int64_t kLiveQueueNanos = 3'000'000'000;
// But for slow sources, of which a publisher's first seconds come at once: never fewer pictures.
inline constexpr std::int64_t kLiveQueuePictures = 12;

// Runs that streams share are about as long in bytes, at most (kMaxRunHistoryBytes).
inline constexpr std::int64_t kSharedRunBytes = std::int64_t{12} << 20U;

// How long a call of LiveSource::Want counts.
inline constexpr std::chrono::seconds kWantedFor(1);

struct LiveCounts {
  std::int64_t publishers = 0;  // so far
  std::int64_t packets = 0;     // received
  std::int64_t bytes = 0;
  std::int64_t lost = 0;            // packets of the network that never came (RTP)
  std::int64_t damaged = 0;         // packets of which a part never came (transport streams)
  std::int64_t repaired = 0;        // timestamps
  std::int64_t format_changes = 0;  // another codec, size or number of sounds than before
  // How much later the publisher's clock lets pictures come than at its beginning; its last one's.
  std::int64_t clock_drift_ms = 0;
  std::int64_t dropped_gops = 0;     // over all readers
  std::int64_t dropped_packets = 0;  // over all readers
  // Of text: far from the pictures, or more than a presentation keeps; over all presentations.
  std::int64_t dropped_cues = 0;
};

class LiveSource : public std::enable_shared_from_this<LiveSource> {
 public:
  // `patience`: how long readers wait for the first key picture of a publisher, and for one that
  // returns. Publishers that bring none do not prolong it.
  explicit LiveSource(Duration patience) : patience_(patience) {}

  // Publisher side. One at a time: while another one publishes, kAlreadyExists, or with `replace`
  // it is that one's end. Returns what Run and Release want to see.
  using Claim = std::int64_t;
  Result<Claim> Acquire(bool replace);
  // What Acquire would say.
  [[nodiscard]] Status CheckFree(bool replace) const;
  // Reads `source` to its end and hands its packets out; kAlreadyExists once it has been replaced.
  // Again for what the publisher goes on with (PacketSource::Successor). Says whether there was a
  // picture.
  Result<bool> Run(Claim claim, PacketSource& source);
  // The publisher has gone; kAlreadyExists if another one has replaced it before.
  Status Release(Claim claim);

  // Reader side. Waits for a key frame, `patience` for a publisher and as long for its key frame,
  // or as long as those have been apart: kUnavailable then.
  enum class ReaderClock { kOwn, kShared };
  // kInvalidArgument where the publisher has no such sound tracks. `texts`: the tracks of text
  // whose cues are read too; a publisher may lack them, now or later.
  Result<std::unique_ptr<PacketSource>> Subscribe(std::stop_token stop, AudioTracks sounds = {},
                                                  ReaderClock clock = ReaderClock::kOwn,
                                                  std::vector<SubtitleTrack> texts = {});

  // Somebody waits for a publisher without being a reader yet. Counts for kWantedFor.
  void Want();

  // How it stands with what fetches it; nothing where nobody does. Readers that wait in vain are
  // told of its last error.
  void SetPull(PullState state);
  [[nodiscard]] std::optional<PullState> pull() const;

  [[nodiscard]] bool publishing() const;
  [[nodiscard]] bool wanted() const;  // there are readers, or somebody wants it
  [[nodiscard]] Duration patience() const { return patience_; }
  [[nodiscard]] std::size_t readers() const;
  // A presentation has left out what the source says.
  void NoteDroppedCue();
  [[nodiscard]] LiveCounts counts() const;
  [[nodiscard]] std::shared_ptr<const SourceInfo> info() const;
  // Of its streams.
  [[nodiscard]] const std::shared_ptr<PictureStore>& pictures() const { return decoded_; }

 private:
  class Reader;
  class Burst;
  class Intake;
  struct Entry {
    std::shared_ptr<const SourceInfo> info;  // of the publisher that sent it
    bool video = false, text = false;        // neither: sound
    bool key = false;
    std::size_t track = 0;       // number among the tracks of its kind that are read
    bool after_gap = false;      // packets before it are missing
    bool jumped = false;         // the publisher's clock has, right before it
    bool cut_here = false;       // Arrival
    WallTime wall = {};          // when it came
    std::int64_t dts_ns = 0;     // clock of the publisher, repaired
    std::int64_t offset_ns = 0;  // of the clock of the source against that of the publisher
    std::int64_t number = 0;     // of the next picture, or of this one
    Claim publisher = 0;         // that sent it
    std::shared_ptr<const av::Packet> packet;
  };
  // Closes up what is missing: one offset for both tracks, chosen anew behind each gap.
  class Clock {
   public:
    Clock() = default;
    // Goes on with another one.
    explicit Clock(std::int64_t offset_ns) : begun_(true), offset_ns_(offset_ns) {}
    // What to add to the times of the packet.
    std::int64_t Place(const Entry& entry, bool after_gap);

   private:
    bool begun_ = false;
    std::int64_t offset_ns_ = 0, end_ns_ = 0;
  };
  struct Queue {  // of one reader
    std::deque<Entry> entries;
    std::size_t bytes = 0;
    bool needs_key = true;
    bool gap = false;
  };
  [[nodiscard]] static std::size_t Cost(const Entry& entry);
  [[nodiscard]] static Rational TimeBaseOf(const Entry& entry);
  static Entry Received(PacketSource::ReadState state,
                        const std::shared_ptr<const SourceInfo>& info, TimestampRepair& repair,
                        av::Packet packet);
  static Error Replaced();
  static Error Taken();
  bool Hand(Claim claim, Entry entry);
  Error NothingComes() const;
  void NoteKey() GOPMILL_REQUIRES(mutex_);
  void NoteDeparture() GOPMILL_REQUIRES(mutex_);
  void BeginAnew() GOPMILL_REQUIRES(mutex_);
  void NoteFormat(const SourceInfo& info) GOPMILL_REQUIRES(mutex_);
  void PlaceOnClock(Entry& entry) GOPMILL_REQUIRES(mutex_);
  bool IsCut(const Entry& key) GOPMILL_REQUIRES(mutex_);
  LiveJoin Join(const Entry& first) GOPMILL_REQUIRES(mutex_);
  void Put(Queue& queue, const Entry& entry) GOPMILL_REQUIRES(mutex_);
  void DropOldest(Queue& queue) GOPMILL_REQUIRES(mutex_);

  const Duration patience_;
  const std::shared_ptr<PictureStore> decoded_ = std::make_shared<PictureStore>();
  mutable Mutex mutex_;  // guards all below
  CondVar changed_;
  Claim claim_ GOPMILL_GUARDED_BY(mutex_) = 0;  // of the publisher; 0 = nobody publishes
  Claim last_claim_ GOPMILL_GUARDED_BY(mutex_) = 0;
  bool brought_ GOPMILL_GUARDED_BY(mutex_) = false;  // whether its publisher has, any key picture
  // When the newest one came since what is open began.
  std::optional<TimePoint> keyed_ GOPMILL_GUARDED_BY(mutex_);
  // The longest time between two of this publisher; bounded.
  Duration keys_apart_ GOPMILL_GUARDED_BY(mutex_){};
  // When the last publisher left that had.
  TimePoint released_ GOPMILL_GUARDED_BY(mutex_) = SteadyNow();
  std::shared_ptr<const SourceInfo> info_ GOPMILL_GUARDED_BY(mutex_);
  std::string format_ GOPMILL_GUARDED_BY(mutex_);  // of the newest publisher, FormatOf
  std::vector<std::shared_ptr<Queue>> queues_ GOPMILL_GUARDED_BY(mutex_);
  TimePoint wanted_until_ GOPMILL_GUARDED_BY(mutex_) = {};
  std::optional<PullState> pull_ GOPMILL_GUARDED_BY(mutex_);
  LiveCounts counts_ GOPMILL_GUARDED_BY(mutex_);
  Clock clock_ GOPMILL_GUARDED_BY(mutex_);  // as a reader's that loses nothing
  bool clock_needs_key_ GOPMILL_GUARDED_BY(mutex_) = true;
  bool clock_gap_ GOPMILL_GUARDED_BY(mutex_) = false;
  std::int64_t pictures_ GOPMILL_GUARDED_BY(mutex_) = 0;  // placed on it so far
  // Time on it of the key picture where runs were cut last, and bytes of pictures since.
  std::optional<std::int64_t> cut_ns_ GOPMILL_GUARDED_BY(mutex_);
  std::int64_t cut_bytes_ GOPMILL_GUARDED_BY(mutex_) = 0;
  std::optional<std::int64_t> anchor_ns_ GOPMILL_GUARDED_BY(mutex_);
};

}  // namespace gopmill
