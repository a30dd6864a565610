// SPDX-License-Identifier: Apache-2.0
//
// The publisher's side of a live source: packets are repaired, dated, and handed out.
#include <algorithm>
#include <cstdlib>
#include <ranges>
#include <utility>

#include "media/coding_header.h"
#include "media/packet_meta.h"
#include "media/parameter_watch.h"
#include "server/live/live_source.h"
#include "server/stream/packet_dating.h"

namespace gopmill {
namespace {

// Who reads a packet in less did not wait for its publisher.
constexpr std::chrono::milliseconds kSteadyRead{2};
// Packets that are held back at most; a publisher faster than its own clock never makes one wait.
constexpr std::size_t kMaxBurstPackets = 512;

}  // namespace

// What a demuxer had to read before it knew the stream comes at once, and late. It is held back
// until a packet had to be waited for, and dated by the last picture of it: sound may lie anywhere.
class LiveSource::Burst {
 public:
  std::vector<Entry> Put(Entry entry, bool waited) {
    held_.push_back(std::move(entry));
    if (!over_ && !waited && held_.size() < kMaxBurstPackets) return {};
    return Take();
  }
  std::vector<Entry> Take() {
    if (!std::exchange(over_, true) && !held_.empty()) {
      const auto picture = std::ranges::find(held_.rbegin(), held_.rend(), true, &Entry::video);
      const Entry last = picture == held_.rend() ? held_.back() : *picture;
      for (Entry& entry : held_) {
        const std::chrono::nanoseconds earlier(
            std::max<std::int64_t>(last.dts_ns - entry.dts_ns, 0));
        entry.wall = last.wall - std::chrono::duration_cast<std::chrono::microseconds>(earlier);
      }
    }
    return std::exchange(held_, {});
  }

 private:
  std::vector<Entry> held_;
  bool over_ = false;
};

// On the publisher's clock, repaired.
LiveSource::Entry LiveSource::Received(PacketSource::ReadState state,
                                       const std::shared_ptr<const SourceInfo>& info,
                                       TimestampRepair& repair, av::Packet packet) {
  Entry entry;
  entry.info = info;
  entry.video = state == PacketSource::ReadState::kVideo;
  entry.text = state == PacketSource::ReadState::kText;
  if (!entry.video) entry.track = static_cast<std::size_t>(packet->stream_index);
  if (entry.text) {
    packet->pts = packet->dts = repair.Shifted(packet->pts);
  } else {
    repair.Fix(entry.video ? kVideoTrack : kAudioTrack + entry.track, *packet);
  }
  entry.wall = WallNow();
  entry.key = (packet->flags & AV_PKT_FLAG_KEY) != 0;
  entry.dts_ns = Rescale(packet->dts, TimeBaseOf(entry), kNanos);
  entry.packet = std::make_shared<const av::Packet>(std::move(packet));
  return entry;
}

// What one run of a publisher sends, on its way to the readers.
class LiveSource::Intake {
 public:
  Intake(LiveSource& live, Claim claim, PacketSource& source)
      : live_(live),
        claim_(claim),
        source_(source),
        info_(source.info()),
        repair_(source.start_us(), RepairTracks(*info_)) {}

  // To its end or error: what came before that is handed out as well.
  Result<bool> Run() {
    while (true) {
      av::Packet packet = av::NewPacket();
      const TimePoint begin = SteadyNow();
      const auto state = source_.Read(*packet);
      const bool waited = SteadyNow() - begin >= kSteadyRead;
      if (!state.ok() || *state == PacketSource::ReadState::kEnd) {
        if (!HandAll(burst_.Take())) return Replaced();
        if (!state.ok()) return state.error();
        return has_pictures_;
      }
      if (!Take(*state, std::move(packet), waited)) return Replaced();
    }
  }

 private:
  bool Take(PacketSource::ReadState state, av::Packet packet, bool waited) {
    NoteCoding(state, *packet);
    if ((packet->flags & AV_PKT_FLAG_CORRUPT) != 0) ++damaged_;
    Entry entry = Received(state, info_, repair_, std::move(packet));
    dating_.SeeClocks(entry.wall, SteadyNow());
    if (entry.video) {
      entry.jumped = std::exchange(jumps_, repair_.jumps()) != repair_.jumps();
      pictures_ns_ = entry.dts_ns;
      has_pictures_ = true;
    }
    // A clock that has jumped shows in the pictures, which may come after the text.
    if (entry.text && std::abs(entry.dts_ns - pictures_ns_) > kCueReachNanos) {
      live_.NoteDroppedCue();
      return true;
    }
    if (!HandAll(burst_.Put(std::move(entry), waited))) return false;
    Count();
    return true;
  }

  // A packet may bring another coding of its track.
  void NoteCoding(PacketSource::ReadState state, const AVPacket& packet) {
    if (state == PacketSource::ReadState::kText) return;
    const bool video = state == PacketSource::ReadState::kVideo;
    const auto track = static_cast<std::size_t>(packet.stream_index);
    const bool other_sets = video && sets_.Changed(*info_->video.parameters, packet);
    auto other = WithNewHeader(*info_, video, track, packet);
    if (other == nullptr && !other_sets) return;
    const MutexLock lock(live_.mutex_);
    ++live_.counts_.format_changes;
    if (other != nullptr) info_ = std::move(other);
    if (live_.claim_ == claim_) live_.info_ = info_;
  }

  bool HandAll(std::vector<Entry> entries) {
    return std::ranges::all_of(entries, [&](Entry& next) {
      next.wall = dating_.Date(next.video, next.dts_ns, next.wall);
      return live_.Hand(claim_, std::move(next));
    });
  }

  void Count() {
    const std::int64_t lost_by_now = source_.lost();
    const MutexLock lock(live_.mutex_);
    LiveCounts& counts = live_.counts_;
    counts.repaired += repair_.repaired() - std::exchange(repaired_, repair_.repaired());
    counts.lost += lost_by_now - std::exchange(lost_, lost_by_now);
    counts.damaged += std::exchange(damaged_, 0);
    if (live_.claim_ == claim_) counts.clock_drift_ms = dating_.drift().count();
  }

  LiveSource& live_;
  const Claim claim_;
  PacketSource& source_;
  std::shared_ptr<const SourceInfo> info_;
  TimestampRepair repair_;
  std::int64_t jumps_ = 0;                // told of, with a picture
  std::int64_t repaired_ = 0, lost_ = 0;  // counted
  std::int64_t damaged_ = 0;              // not counted yet
  std::int64_t pictures_ns_ = 0;
  bool has_pictures_ = false;
  Burst burst_;
  PacketDating dating_;
  ParameterWatch sets_;
};

Result<bool> LiveSource::Run(Claim claim, PacketSource& source) {
  if (source.counted_pts()) {
    return Error{.code = Code::kUnsupported,
                 .message = "A live stream needs timestamps.",
                 .accepted = "MPEG-TS, Matroska, FLV or fragmented MP4"};
  }
  {
    const MutexLock lock(mutex_);
    if (claim_ != claim) return Replaced();
    info_ = source.info();
    NoteFormat(*info_);
    BeginAnew();
  }
  return Intake(*this, claim, source).Run();
}

}  // namespace gopmill
